// The console's page. Every answer is the server's own HTML; without this script links and forms work all the same.

import { detach, listenForFiles } from "./attach.js";
import { chime, listen } from "./live.js";
import { parse, remember, swap } from "./swap.js";

const byId = (id) => document.getElementById(id);
const base = document.body.dataset.base;
const DRAFT = "onevoice draft ";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
const zoneIsNew = !document.cookie.includes(`onevoice_zone=${encodeURIComponent(zone)}`);
document.cookie = `onevoice_zone=${encodeURIComponent(zone)}; path=${base}; max-age=31536000; samesite=lax`;

const desk = byId("desk");
if (document.querySelector("[data-door]")) {
  // Whoever signs in next in this window is maybe somebody else.
  if (new URLSearchParams(location.search).get("why") === "signed_out") sessionStorage.clear();
} else if (desk) start();

function start() {
  const texts = JSON.parse(byId("texts").dataset.texts);
  const scroller = byId("scroller");
  let asked = 0; // Commands and moves so far: a refresh from before the latest one shows the time before it.
  let refreshed = 0; // Refreshes so far: only the newest one's answer counts.
  let attention = count();
  let wanted = null; // What a refresh that waits is to bring: "list" or "desk".
  let timer = 0;
  let staysAtEnd = true;

  // ------------------------------------------------------------ requests

  function count() {
    return Number(byId("list").dataset.attention);
  }

  function conversation() {
    return byId("head").dataset.conversation;
  }

  async function ask(url, part, { byItself = false, body } = {}) {
    const headers = { "x-console-part": part };
    if (byItself) headers["x-console-by-itself"] = "1";
    const response = await fetch(url, { method: body ? "POST" : "GET", headers, body, redirect: "error" });
    if (response.status === 401) {
      location.assign(response.headers.get("x-console-sign-in") ?? `${base}/sign-in`);
      return null;
    }
    return { status: response.status, answer: parse(await response.text()) };
  }

  function apply(answer, { skips = [], keeps } = {}) {
    const before = conversation();
    const wasAtEnd = isAtEnd();
    const top = scroller.scrollTop;
    const height = scroller.scrollHeight;
    const added = swap(answer, { skips, keeps });
    const isOther = conversation() !== before;
    if (isOther || wasAtEnd) toEnd();
    else if (added.some((item) => item.offsetTop < top)) scroller.scrollTop = top + scroller.scrollHeight - height;
    const news = isOther ? [] : added.filter((item) => item.matches(".bubble.customer") && item.offsetTop >= top);
    if (!isOther && !wasAtEnd && news.length) byId("below").hidden = false;
    retitle(news);
    return { isOther, news };
  }

  function retitle(news) {
    const now = count();
    document.title = `${now ? `(${now}) ` : ""}${byId("head").dataset.title} · onevoice`;
    if (now > attention || (news.length && document.hidden)) ring();
    attention = now;
  }

  async function refresh(part) {
    const place = location.href;
    const [before, turn] = [asked, ++refreshed];
    try {
      const found = await ask(place, part, { byItself: true });
      const isOld = asked !== before || turn !== refreshed || location.href !== place;
      if (!found || isOld || found.status >= 500) return;
      const { news } = apply(found.answer, { skips: ["fresh", "notice"] });
      if (news.length) announce(news.at(-1));
      connected(true);
    } catch {
      connected(false);
    }
  }

  function soon(part) {
    if (wanted !== "desk") wanted = part;
    if (timer) return;
    timer = setTimeout(() => {
      timer = 0;
      const what = wanted;
      wanted = null;
      refresh(what);
    }, 250);
  }

  function connected(is) {
    byId("connection").hidden = is;
  }

  function announce(item) {
    const text = item.querySelector(".text, .what")?.textContent.trim() ?? item.querySelector("img")?.alt ?? "";
    const author = item.querySelector(".author")?.textContent ?? "";
    byId("announcer").textContent = texts.new_message.replace("{name}", author).replace("{text}", text);
  }

  // ------------------------------------------------------------ going somewhere

  async function go(url, { pushes = true } = {}) {
    keepDraft();
    const turn = ++asked;
    let found;
    try {
      found = await ask(url, "desk");
    } catch {
      location.assign(url);
      return;
    }
    if (!found || turn !== asked) return;
    if (pushes) history.pushState(null, "", url);
    const before = conversation();
    const target = found.answer.getElementById("head")?.dataset.conversation ?? "";
    const isOther = target !== before;
    const { isOther: moved } = apply(found.answer, {
      skips: isOther ? [] : ["fresh"],
      keeps: (id) => (isOther ? id === "contact" : id !== "list"),
    });
    desk.dataset.view = conversation() ? "thread" : "list";
    if (moved) {
      restoreDraft();
      byId("below").hidden = true;
      if (conversation()) byId("thread").focus({ preventScroll: true });
    }
    const prefilled = document.querySelector("[data-prefill]");
    if (prefilled) {
      prefilled.focus();
      prefilled.setSelectionRange(prefilled.value.length, prefilled.value.length);
    }
    grow();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-soft]");
    if (!link || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(link.href);
  });
  window.addEventListener("popstate", () => go(location.href, { pushes: false }));

  // ------------------------------------------------------------ forms

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (form.matches("[data-soft-form]")) {
      event.preventDefault();
      go(`${form.action}?${new URLSearchParams(new FormData(form))}`);
      return;
    }
    if (!form.matches("[data-post]")) return;
    event.preventDefault();
    // A second click while the first is on its way is the same command.
    if (form.dataset.busy) return;
    form.dataset.busy = "1";
    try {
      await post(form, event.submitter);
    } finally {
      delete form.dataset.busy;
    }
  });

  async function post(form, submitter) {
    const body = new URLSearchParams(new FormData(form, submitter));
    // A template goes alone: what is written and attached stays for later.
    if (body.get("as") === "template") for (const name of ["text", "media"]) body.delete(name);
    const sent = body.get("text");
    asked += 1;
    let found;
    try {
      found = await ask(form.action, "desk", { body });
    } catch {
      say(texts.not_sent);
      return;
    }
    if (!found) return;
    if (found.status >= 400) {
      const code = found.answer.querySelector("#notice [data-code]")?.dataset.code;
      apply(found.answer, { skips: code === "key_reused" ? [] : ["fresh"] });
      return;
    }
    const field = form.querySelector("textarea");
    // What was typed while it was on its way is the next message.
    if (field && field.value === sent) field.value = "";
    detach(body.get("media"));
    if (body.get("as") === "template") byId("template").open = false;
    apply(found.answer);
    if (form.id === "reply-form" || form.closest(".suggestion")) strip(["draft", "hide"]);
    keepDraft();
    grow();
    toEnd();
  }

  function say(text) {
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.setAttribute("role", "alert");
    notice.textContent = text;
    byId("notice").replaceChildren(notice);
  }

  /** A suggestion that was sent or edited is over: the address need not name it any more. */
  function strip(names) {
    const url = new URL(location.href);
    for (const each of names) url.searchParams.delete(each);
    if (url.href !== location.href) history.replaceState(null, "", url);
  }

  // ------------------------------------------------------------ drafts

  function keepDraft() {
    const id = conversation();
    const reply = byId("reply");
    if (!id || !reply) return;
    const draft = { reply: reply.value, note: byId("note").value, key: byId("key").value };
    if (draft.reply || draft.note) sessionStorage.setItem(DRAFT + id, JSON.stringify(draft));
    else sessionStorage.removeItem(DRAFT + id);
  }

  function restoreDraft() {
    const kept = JSON.parse(sessionStorage.getItem(DRAFT + conversation()) ?? "null");
    const reply = byId("reply");
    if (!kept || !reply) return;
    // With its key: a message whose answer was lost is still the same message.
    byId("key").value = kept.key;
    if (!reply.hasAttribute("data-prefill")) reply.value = kept.reply;
    byId("note").value = kept.note;
    grow();
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches("textarea[data-keep]")) {
      grow();
      keepDraft();
    }
  });

  function grow() {
    for (const field of document.querySelectorAll("textarea[data-keep]")) {
      const lines = field.value.split("\n").length + Math.floor(field.value.length / 90);
      field.rows = Math.min(8, Math.max(2, lines));
    }
  }

  document.addEventListener("keydown", (event) => {
    const field = event.target;
    if (event.key !== "Enter" || !field.matches("#reply, #note") || event.isComposing) return;
    const sends = field.id === "reply" ? !event.shiftKey && !event.altKey : event.ctrlKey || event.metaKey;
    if (!sends) return;
    event.preventDefault();
    const hasFile = field.id === "reply" && byId("media").value;
    if (field.value.trim() || hasFile) {
      field.required = !hasFile;
      field.form.requestSubmit();
    }
  });

  // ------------------------------------------------------------ scrolling

  function isAtEnd() {
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
  }

  function toEnd() {
    scroller.scrollTop = scroller.scrollHeight;
    staysAtEnd = true;
    byId("below").hidden = true;
  }

  byId("below").addEventListener("click", toEnd);
  scroller.addEventListener("scroll", () => {
    staysAtEnd = isAtEnd();
    if (staysAtEnd) byId("below").hidden = true;
  }, { passive: true });
  // A picture has its height only once it is there.
  scroller.addEventListener("load", () => {
    if (staysAtEnd) toEnd();
  }, { capture: true });

  // ------------------------------------------------------------ sound

  const sound = byId("sound");
  let isLoud = false;
  try {
    isLoud = localStorage.getItem("onevoice sound") === "on";
  } catch {
    // A browser that keeps nothing stays silent.
  }

  function ring() {
    if (isLoud) chime();
  }

  function showSound() {
    sound.hidden = false;
    sound.textContent = isLoud ? texts.sound_off : texts.sound_on;
    sound.setAttribute("aria-pressed", String(isLoud));
  }

  sound.addEventListener("click", () => {
    isLoud = !isLoud;
    try {
      localStorage.setItem("onevoice sound", isLoud ? "on" : "off");
    } catch {
      // It is for this page, then.
    }
    showSound();
    ring();
  });

  // A menu is closed by Escape and by a click elsewhere.
  document.addEventListener("click", (event) => closeMenus(event.target));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const open = document.querySelector("details.menu[open]");
    closeMenus(null);
    open?.querySelector("summary").focus();
  });

  function closeMenus(target) {
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      if (!target || !menu.contains(target)) menu.open = false;
    }
  }

  // ------------------------------------------------------------ begin

  remember(document);
  restoreDraft();
  listenForFiles({ base, say, texts });
  showSound();
  if (matchMedia("(max-width: 75rem)").matches) {
    const panel = byId("contact-panel");
    if (panel) panel.open = false;
  }
  toEnd();
  retitle([]);
  window.addEventListener("pagehide", keepDraft);
  listen(base, {
    changed: (ids) => soon(ids === null || ids.includes(conversation()) ? "desk" : "list"),
    connected,
    signedOut: () => location.assign(`${base}/sign-in?why=expired&next=${encodeURIComponent(location.pathname + location.search)}`),
  });
  if (zoneIsNew) soon("desk");
}
