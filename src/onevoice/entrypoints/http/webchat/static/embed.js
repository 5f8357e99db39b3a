// <script src="https://chat.example.com/chat/loja/embed.js" async></script>
// Adds a launcher and the chat in a frame. Everything lives in a shadow root with a constructed style sheet,
// so neither page styles the other and a policy without inline styles is kept.
(() => {
  const settings = /* settings */ {};
  const url = new URL(settings.base, document.currentScript.src);
  const svg = "http://www.w3.org/2000/svg";
  const css = `
    :host { all: initial; }
    button {
      position: fixed; inset-block-end: 20px; inset-inline-end: 20px; z-index: 2147483000;
      display: grid; place-items: center; width: 60px; height: 60px; padding: 0; border: 0; border-radius: 50%;
      background: ${settings.color}; color: ${settings.ink}; cursor: pointer;
      box-shadow: 0 2px 6px rgb(0 0 0 / 16%), 0 8px 28px rgb(0 0 0 / 18%);
    }
    button:focus-visible { outline: 3px solid ${settings.color}; outline-offset: 3px; }
    svg { width: 28px; height: 28px; fill: none; stroke: currentcolor; stroke-width: 2; stroke-linecap: round;
      stroke-linejoin: round; }
    span {
      position: absolute; inset-block-start: -4px; inset-inline-end: -4px; min-width: 22px; padding: 0 6px;
      box-sizing: border-box; border-radius: 11px; background: #b3261e; color: #fff;
      font: 700 13px/22px system-ui, sans-serif; text-align: center;
    }
    [hidden] { display: none; }
    iframe {
      position: fixed; inset-block-end: 96px; inset-inline-end: 20px; z-index: 2147483000;
      width: min(400px, calc(100vw - 40px)); height: min(640px, calc(100vh - 116px));
      border: 0; border-radius: 18px; background: #fff;
      box-shadow: 0 4px 12px rgb(0 0 0 / 12%), 0 16px 48px rgb(0 0 0 / 22%);
    }
    @media (max-width: 480px) {
      iframe { inset: 0; width: 100vw; height: 100dvh; border-radius: 0; }
      .open button { display: none; }
    }
    @media (prefers-color-scheme: dark) { iframe { background: #121716; } }
  `;

  function icon(path) {
    const image = document.createElementNS(svg, "svg");
    image.setAttribute("viewBox", "0 0 24 24");
    image.setAttribute("aria-hidden", "true");
    const line = document.createElementNS(svg, "path");
    line.setAttribute("d", path);
    image.append(line);
    return image;
  }

  function start() {
    const host = document.createElement("div");
    const shadow = host.attachShadow({ mode: "open" });
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    shadow.adoptedStyleSheets = [sheet];

    const frame = document.createElement("iframe");
    frame.title = settings.title;
    frame.hidden = true;
    frame.referrerPolicy = "no-referrer";
    const launcher = document.createElement("button");
    launcher.type = "button";
    const badge = document.createElement("span");
    badge.hidden = true;
    const box = document.createElement("div");
    box.append(frame, launcher);
    shadow.append(box);
    document.body.append(host);

    let isReady = false; // The chat page speaks first; a frame that was refused never does.

    function tellFrame() {
      if (isReady) frame.contentWindow.postMessage({ onevoice: "shown", shown: !frame.hidden }, url.origin);
    }

    function toggle(isOpen) {
      if (isOpen && !frame.src) frame.src = `${url.href}?embedded=1`;
      frame.hidden = !isOpen;
      box.classList.toggle("open", isOpen);
      launcher.setAttribute("aria-expanded", String(isOpen));
      launcher.setAttribute("aria-label", isOpen ? settings.close : settings.open);
      launcher.replaceChildren(
        icon(isOpen ? "M6 6l12 12M18 6L6 18" : "M5 5h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-6l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2z"),
        badge,
      );
      tellFrame();
    }

    launcher.addEventListener("click", () => toggle(frame.hidden));
    addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !frame.hidden) {
        toggle(false);
        launcher.focus();
      }
    });
    addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== url.origin) return;
      if (!isReady) {
        isReady = true;
        tellFrame();
      }
      if (event.data?.onevoice === "close") {
        toggle(false);
        launcher.focus();
      }
      if (event.data?.onevoice === "unread" && Number.isInteger(event.data.count)) {
        badge.textContent = event.data.count > 99 ? "99+" : String(event.data.count);
        badge.hidden = event.data.count === 0;
      }
    });
    toggle(false);
  }

  if (document.body) start();
  else addEventListener("DOMContentLoaded", start);
})();
