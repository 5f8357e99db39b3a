// Hands a file to the server as soon as it is chosen; the reply names it by its id.

const byId = (id) => document.getElementById(id);

export function listenForFiles({ base, say, texts }) {
  document.documentElement.classList.add("scripted");
  document.addEventListener("change", async (event) => {
    const field = event.target;
    const [file] = field.id === "attach" ? field.files : [];
    if (!file) return;
    field.value = "";
    const answer = await handIn(file, base);
    if (answer?.status === 401) location.reload();
    if (answer?.ok) attach(await answer.json());
    else say((await answer?.json().catch(() => null))?.message ?? texts.file_not_kept);
  });
  document.addEventListener("keydown", (event) => {
    // Enter in its fields means the template, not the reply that is being written above it.
    if (event.key !== "Enter" || !event.target.matches("#template input")) return;
    event.preventDefault();
    byId("template").querySelector("button").click();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("#detach")) {
      detach(byId("media").value);
      byId("attach").focus();
    }
    // A file may go without words, and a template has none.
    if (event.target.closest("#send")) byId("reply").required = !byId("media")?.value;
  });
}

/** The file was sent, or taken away; one that was attached meanwhile stays. */
export function detach(id) {
  if (!id || byId("media")?.value !== id) return;
  byId("media").value = "";
  byId("media-name").value = "";
}

function attach({ id, name }) {
  byId("media").value = id;
  byId("media-name").value = name;
  byId("reply").focus();
}

async function handIn(file, base) {
  const headers = {
    "content-type": file.type || "application/octet-stream",
    "x-filename": encodeURIComponent(file.name),
    "x-console-csrf": byId("reply-form").elements.csrf.value,
    "x-console-part": "desk",
  };
  const name = byId("media-name");
  name.value = `${file.name} …`;
  try {
    return await fetch(`${base}/media`, { method: "POST", headers, body: file, redirect: "error" });
  } catch {
    return null; // No network: said as any other failure.
  } finally {
    if (!byId("media").value) name.value = "";
  }
}
