// The chat page. The server's tables are the truth; this page draws them, and keeps what it has written
// but not yet delivered in localStorage, under the id that makes a repeated post count once.

const byId = (id) => document.getElementById(id);
const { base, language, texts, started } = JSON.parse(byId("chat").dataset.settings);
const framed = window.parent !== window;
const title = document.title;
const scroller = byId("scroller");
const textField = byId("text");
const nameField = byId("name");

// ---------------------------------------------------------------- storage

const unstored = new Map();
const prefix = `onevoice:${base}:`;

function keep(name, value) {
  try {
    localStorage.setItem(prefix + name, value);
    return true;
  } catch {
    unstored.set(name, value);
    return false;
  }
}

function recall(name) {
  try {
    return localStorage.getItem(prefix + name) ?? unstored.get(name) ?? null;
  } catch {
    return unstored.get(name) ?? null;
  }
}

function forget(name) {
  unstored.delete(name);
  try {
    localStorage.removeItem(prefix + name);
  } catch {
    // Nothing was stored where storing is forbidden.
  }
}

function keptNames() {
  const names = new Set(unstored.keys());
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix)) names.add(key.slice(prefix.length));
  } catch {
    // Only what is in memory, then.
  }
  return names;
}

// ---------------------------------------------------------------- conversation

const records = new Map(); // key → {item, element}
const dayElements = new Map();
const time = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
const longDay = new Intl.DateTimeFormat(language, { weekday: "long", day: "numeric", month: "long" });
const ticks = { waiting: "◷", failed: "!", received: "✓", seen: "✓✓" };
let hasEarlier = false;

function create(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function isOwn(item) {
  return item.author === "visitor";
}

// Links are only made of what the business wrote; every other character stays text.
function fill(bubble, item) {
  if (isOwn(item)) {
    bubble.append(item.text);
    return;
  }
  let end = 0;
  for (const match of item.text.matchAll(/\bhttps?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)\]}*_]/g)) {
    bubble.append(item.text.slice(end, match.index));
    const link = create("a", "", match[0]);
    link.href = match[0];
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
    bubble.append(link);
    end = match.index + match[0].length;
  }
  bubble.append(item.text.slice(end));
}

// Shown in place only where the server says that a browser runs nothing of it.
function drawFile(file) {
  const address = `${base}/media/${file.id}`;
  const name = file.filename ?? texts[file.type] ?? texts.document;
  if (file.in_place && file.type === "image") {
    const link = create("a", "picture");
    const picture = create("img");
    picture.alt = name;
    picture.src = address;
    picture.addEventListener("load", () => isFollowing && scrollToEnd());
    link.append(picture);
    return openElsewhere(link, address);
  }
  if (file.in_place && (file.type === "audio" || file.type === "video")) {
    const player = create(file.type);
    player.controls = true;
    player.preload = "metadata";
    player.src = address;
    player.setAttribute("aria-label", name);
    return player;
  }
  const link = create("a", "file", name);
  if (file.size_bytes) link.append(create("span", "size", size(file.size_bytes)));
  return openElsewhere(link, address);
}

function openElsewhere(link, address) {
  link.href = address;
  link.target = "_blank";
  link.rel = "noopener";
  return link;
}

function size(bytes) {
  const [amount, unit] = bytes < 1_000_000 ? [bytes / 1000, "kilobyte"] : [bytes / 1_000_000, "megabyte"];
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumSignificantDigits: 2 }).format(amount);
}

function drawChoices(titles) {
  const row = create("div", "choices");
  for (const title of titles) {
    const button = create("button", "choice", title);
    button.type = "button";
    button.addEventListener("click", () => {
      say(title);
      textField.focus();
    });
    row.append(button);
  }
  return row;
}

function draw(item) {
  const element = create("li", isOwn(item) ? "message own" : "message");
  element.append(create("p", "author", isOwn(item) ? texts.you : texts[item.author]));
  const bubble = create("div", "bubble");
  bubble.dir = "auto";
  if (item.file) bubble.append(drawFile(item.file));
  fill(bubble, item);
  element.append(bubble);
  if (item.choices) element.append(drawChoices(item.choices));
  const meta = create("div", "meta");
  const stamp = create("time", "", time.format(new Date(item.at)));
  stamp.dateTime = item.at;
  meta.append(stamp);
  element.append(meta);
  return element;
}

function drawTicks({ item, element }) {
  if (element.dataset.state === item.state) return;
  element.dataset.state = item.state;
  if (!isOwn(item)) return;
  const meta = element.querySelector(".meta");
  meta.querySelectorAll(".ticks, .word, button").forEach((old) => old.remove());
  const mark = create("span", "ticks", ticks[item.state]);
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", texts[item.state]);
  meta.append(mark);
  if (item.state === "failed") {
    meta.append(create("span", "word", item.problem ?? texts.failed));
    for (const [label, act] of [[texts.retry, retry], [texts.discard, discard]]) {
      const button = create("button", "", label);
      button.type = "button";
      button.addEventListener("click", () => act(item));
      meta.append(button);
    }
  }
}

// Applying the same or an older version again changes nothing.
function apply(item) {
  const record = records.get(item.key);
  if (!record) {
    const fresh = { item, element: draw(item) };
    records.set(item.key, fresh);
    drawTicks(fresh);
    return true;
  }
  const wasUnsent = record.item.version === 0;
  if (item.version > record.item.version || (wasUnsent && item.version === 0)) {
    record.item = item;
    record.element.querySelector("time").textContent = time.format(new Date(item.at));
    drawTicks(record);
  }
  if (item.version > 0 && isOwn(item)) forget(`outbox:${item.key.slice(3)}`);
  return false;
}

function dayOf(at) {
  const day = new Date(at);
  const days = Math.round((new Date().setHours(0, 0, 0, 0) - new Date(at).setHours(0, 0, 0, 0)) / 86_400_000);
  const label = days === 0 ? texts.today : days === 1 ? texts.yesterday : longDay.format(day);
  return { key: day.toDateString(), label };
}

function dayElement(day) {
  let element = dayElements.get(day.key);
  if (!element) {
    element = create("li", "day");
    dayElements.set(day.key, element);
  }
  element.textContent = day.label;
  return element;
}

// Puts every element in its place without touching those already there: a live region reads only what is new.
function arrange() {
  const sorted = [...records.values()].sort((a, b) => (a.item.order < b.item.order ? -1 : 1));
  const wanted = [];
  const lastOwn = sorted.findLastIndex(({ item }) => isOwn(item));
  sorted.forEach(({ item, element }, index) => {
    const previous = sorted[index - 1]?.item;
    const next = sorted[index + 1]?.item;
    const day = dayOf(item.at);
    if (!previous || dayOf(previous.at).key !== day.key) wanted.push(dayElement(day));
    element.classList.toggle("first", !belongTogether(previous, item));
    element.classList.toggle("last", !belongTogether(item, next));
    // What was asked before the visitor's latest word is answered.
    element.classList.toggle("over", index < lastOwn);
    wanted.push(element);
  });
  const list = byId("messages");
  const keepers = new Set(wanted);
  for (const child of [...list.children]) if (!keepers.has(child)) child.remove();
  wanted.forEach((element, index) => {
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
  });
  byId("earlier").hidden = !hasEarlier;
  byId("column").classList.toggle("empty", records.size === 0);
  byId("name-field").hidden = started || records.size > 0;
}

function belongTogether(one, other) {
  return Boolean(one && other) && one.author === other.author && new Date(other.at) - new Date(one.at) < 300_000
    && dayOf(one.at).key === dayOf(other.at).key;
}

function show(items, { live }) {
  const following = isAtEnd();
  const fresh = items.filter(apply);
  arrange();
  if (live) for (const item of fresh) records.get(item.key).element.classList.add("fresh");
  const foreign = fresh.filter((item) => !isOwn(item));
  if (live && !(following && isAttended())) foreign.forEach((item) => unread.add(item.key));
  if (following || fresh.some((item) => isOwn(item) && item.version === 0)) scrollToEnd();
  drawUnread();
  acknowledge();
}

function showSnapshot({ items, has_earlier: more }) {
  const confirmed = [...records.values()].filter(({ item }) => item.version >= 1);
  const overlaps = items.some((item) => records.get(item.key)?.item.version >= 1);
  const isFirst = confirmed.length === 0;
  if (!isFirst && !overlaps) {
    // Too much happened in between: what was shown before no longer touches what is shown now.
    for (const { item } of confirmed) records.delete(item.key);
  }
  if (isFirst || !overlaps) hasEarlier = more;
  show(items, { live: !isFirst });
  if (isFirst) scrollToEnd();
  byId("log").setAttribute("aria-live", "polite");
}

async function showEarlier() {
  const oldest = [...records.values()].map(({ item }) => item).filter((item) => item.version >= 1)
    .reduce((a, b) => (a.order < b.order ? a : b));
  const answer = await fetch(`${base}/messages?before=${encodeURIComponent(oldest.order)}`);
  if (!answer.ok) return;
  const page = await answer.json();
  const height = scroller.scrollHeight;
  hasEarlier = page.has_earlier;
  byId("log").setAttribute("aria-live", "off");
  page.items.forEach(apply);
  arrange();
  scroller.scrollTop += scroller.scrollHeight - height;
  requestAnimationFrame(() => byId("log").setAttribute("aria-live", "polite"));
}

// ---------------------------------------------------------------- outbox

let queueNumber = 0;
let isFlushing = false;
let retryTimer = 0;
let failureCount = 0;
let hasReloadedCookie = false;

function asItem(message) {
  return {
    key: `in:${message.id}`,
    order: `~${message.at}/${String(message.number).padStart(6, "0")}`, // After everything confirmed.
    at: message.at,
    author: "visitor",
    text: message.text,
    state: message.problem ? "failed" : "waiting",
    problem: message.problem,
    version: 0,
  };
}

function waitingMessages() {
  return [...keptNames()].filter((name) => name.startsWith("outbox:"))
    .map((name) => JSON.parse(recall(name) ?? "null")).filter(Boolean)
    .sort((a, b) => (a.at === b.at ? a.number - b.number : a.at < b.at ? -1 : 1));
}

function putInOutbox(message) {
  return keep(`outbox:${message.id}`, JSON.stringify(message));
}

function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  // Plain http without localhost has no randomUUID.
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function submit() {
  const text = textField.value.trim();
  if (!text) return;
  textField.value = "";
  forget("draft");
  fitComposer();
  say(text);
}

function say(text) {
  const message = { id: newId(), text, at: new Date().toISOString(), number: (queueNumber += 1) };
  if (!putInOutbox(message)) drawBanner(texts.not_stored);
  show([asItem(message)], { live: true });
  flush();
}

function retry(item) {
  const message = waitingMessages().find((candidate) => `in:${candidate.id}` === item.key);
  if (!message) return;
  delete message.problem;
  putInOutbox(message);
  apply(asItem(message));
  flush();
}

function discard(item) {
  forget(`outbox:${item.key.slice(3)}`);
  records.delete(item.key);
  arrange();
  textField.focus();
}

// One at a time and in order; a message leaves the outbox only when the server has it.
async function flush() {
  if (isFlushing) return;
  isFlushing = true;
  clearTimeout(retryTimer);
  try {
    let message;
    while ((message = waitingMessages().find((candidate) => !candidate.problem))) {
      const waitSeconds = await post(message);
      if (waitSeconds > 0) {
        retryTimer = setTimeout(flush, waitSeconds * 1000);
        return;
      }
    }
  } finally {
    isFlushing = false;
  }
}

// 0 when the message is done with, else the seconds until the next try.
async function post(message) {
  const name = recall("name");
  const answer = await send("messages", { id: message.id, text: message.text, ...(name ? { name } : {}) });
  if (answer?.ok) {
    failureCount = 0;
    forget(`outbox:${message.id}`);
    apply({ ...asItem(message), state: "received", version: 0.5 }); // Until the stream says where it stands.
    drawBanner("");
    if (!stream) openStream();
    return 0;
  }
  if (answer?.status === 401) return renewCookie();
  if (answer && answer.status >= 400 && answer.status < 500 && ![408, 429].includes(answer.status)) {
    const problem = { ...message, problem: texts.failed };
    putInOutbox(problem);
    apply(asItem(problem));
    return 0;
  }
  failureCount += 1;
  drawBanner(!navigator.onLine ? texts.offline : answer?.status === 429 ? texts.slow_down : texts.trying);
  return Number(answer?.headers.get("retry-after")) || Math.min(30, 2 ** Math.min(failureCount - 1, 5));
}

async function send(path, body) {
  if (!navigator.onLine) return null;
  try {
    return await fetch(`${base}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    });
  } catch {
    return null; // No network: the same as any other failure to be tried again.
  }
}

async function renewCookie() {
  if (hasReloadedCookie) {
    drawBanner(texts.cookies, { link: framed });
    return 60;
  }
  hasReloadedCookie = true;
  await fetch(base, { signal: AbortSignal.timeout(15_000) }).catch(() => null);
  return 0.1;
}

// ---------------------------------------------------------------- stream

let stream = null;
let lastEventId = "";
let beatTimer = 0;
let reopenTimer = 0;
let reopenCount = 0;

function openStream() {
  closeStream();
  if (!navigator.onLine) return;
  stream = new EventSource(base + "/events" + (lastEventId ? `?after=${lastEventId}` : ""));
  const on = (name, act) => stream.addEventListener(name, (event) => {
    lastEventId = event.lastEventId;
    reopenCount = 0;
    drawStatus("online");
    watch();
    act(JSON.parse(event.data));
  });
  on("snapshot", showSnapshot);
  on("items", ({ items }) => show(items, { live: true }));
  on("state", drawPresence);
  on("beat", () => {});
  stream.addEventListener("error", () => {
    drawStatus("connecting");
    if (stream?.readyState === EventSource.CLOSED) reopenLater();
  });
  watch();
}

function hasConversation() {
  return started || [...records.values()].some(({ item }) => item.version > 0);
}

function closeStream() {
  clearTimeout(beatTimer);
  clearTimeout(reopenTimer);
  stream?.close();
  stream = null;
}

function reopenLater() {
  closeStream();
  reopenCount += 1;
  reopenTimer = setTimeout(openStream, Math.min(30, 2 ** Math.min(reopenCount, 5)) * 1000);
}

// The server sends a beat every 20 seconds; silence means a connection that died without a word.
function watch() {
  clearTimeout(beatTimer);
  beatTimer = setTimeout(() => {
    drawStatus("connecting");
    openStream();
  }, 50_000);
}

// ---------------------------------------------------------------- receipts

const acknowledged = { delivered: new Set(), read: new Set() };
const unread = new Set();
let isOpened = !framed || !new URLSearchParams(location.search).has("embedded");
let receiptTimer = 0;
let isFollowing = true;

function isAttended() {
  return isOpened && document.visibilityState === "visible";
}

function isAtEnd() {
  return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 60;
}

function acknowledge() {
  clearTimeout(receiptTimer);
  receiptTimer = setTimeout(sendReceipts, 250);
}

async function sendReceipts() {
  const status = isAttended() && isAtEnd() ? "read" : "delivered";
  const open = status === "read" ? ["sent", "delivered"] : ["sent"];
  const keys = [...records.values()].map(({ item }) => item)
    .filter((item) => !isOwn(item) && open.includes(item.state) && !acknowledged[status].has(item.key))
    .map((item) => item.key).slice(0, 100);
  if (keys.length === 0) return;
  keys.forEach((key) => acknowledged[status].add(key));
  const answer = await send("receipts", { ids: keys.map((key) => key.slice(4)), status });
  if (answer?.ok) return;
  keys.forEach((key) => acknowledged[status].delete(key));
  receiptTimer = setTimeout(sendReceipts, 15_000);
}

function attend() {
  if (!isAttended()) return;
  if (isAtEnd()) unread.clear();
  drawUnread();
  acknowledge();
}

// ---------------------------------------------------------------- the rest of the page

function drawStatus(state) {
  const status = byId("status");
  const human = status.dataset.human === "true";
  const word = state === "online" && human ? texts.human : texts[state];
  if (status.dataset.state !== state || status.textContent !== word) {
    status.dataset.state = state;
    status.textContent = word;
  }
}

function drawPresence({ typing, human }) {
  byId("status").dataset.human = String(human);
  drawStatus("online");
  drawTyping(typing);
}

function drawTyping(typing) {
  const place = byId("typing");
  if (Boolean(place.firstChild) === typing) return;
  const following = isAtEnd();
  place.replaceChildren();
  if (typing) {
    const dots = create("span");
    dots.setAttribute("aria-hidden", "true");
    dots.append(create("i"), create("i"), create("i"));
    place.append(create("span", "unseen", texts.typing), dots);
  }
  if (following) scrollToEnd();
}

function drawBanner(text, { link = false } = {}) {
  byId("banner").hidden = !text;
  byId("banner-text").textContent = text;
  byId("banner-link").hidden = !link;
}

function drawUnread() {
  const count = unread.size;
  document.title = count && !isAttended() ? `(${count}) ${title}` : title;
  const latest = byId("latest");
  latest.hidden = isAtEnd();
  latest.textContent = "↓ " + (count === 0 ? texts.to_end
    : count === 1 ? texts.latest_one : texts.latest_many.replace("{count}", count));
  if (framed) window.parent.postMessage({ onevoice: "unread", count: isOpened ? 0 : count }, "*");
}

function scrollToEnd() {
  scroller.scrollTop = scroller.scrollHeight;
}

function fitComposer() {
  if (!CSS.supports("field-sizing", "content")) {
    textField.style.height = "auto";
    textField.style.height = `${textField.scrollHeight}px`;
  }
  byId("send").setAttribute("aria-disabled", String(!textField.value.trim()));
}

function listen() {
  byId("composer").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
    textField.focus();
  });
  textField.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    submit();
  });
  textField.addEventListener("input", () => {
    fitComposer();
    keep("draft", textField.value);
  });
  nameField.addEventListener("change", () => keep("name", nameField.value.trim()));
  byId("earlier").addEventListener("click", showEarlier);
  byId("latest").addEventListener("click", () => {
    scrollToEnd();
    textField.focus();
  });
  scroller.addEventListener("scroll", () => {
    isFollowing = isAtEnd();
    attend();
  }, { passive: true });
  new ResizeObserver(() => {
    if (isFollowing) scrollToEnd();
    drawUnread();
  }).observe(scroller);
  document.addEventListener("visibilitychange", attend);
  listenToNetwork();
  listenToOthers();
}

function listenToNetwork() {
  addEventListener("online", () => {
    drawBanner("");
    if (hasConversation()) openStream();
    flush();
  });
  addEventListener("offline", () => {
    drawBanner(texts.offline);
    drawStatus("away");
    drawTyping(false);
    closeStream();
  });
  addEventListener("pagehide", closeStream);
  addEventListener("pageshow", (event) => {
    if (event.persisted && hasConversation()) openStream();
  });
}

// Another tab shares this visitor and its outbox; the embedding page says when the chat is on show.
function listenToOthers() {
  addEventListener("storage", (event) => {
    if (!event.key?.startsWith(`${prefix}outbox:`)) return;
    if (event.newValue) show([asItem(JSON.parse(event.newValue))], { live: true });
    else if (!stream) openStream();
    clearTimeout(retryTimer);
    retryTimer = setTimeout(flush, 10_000); // Should that tab have gone before it could send.
  });
  addEventListener("message", (event) => {
    if (event.source !== window.parent || event.data?.onevoice !== "shown") return;
    isOpened = event.data.shown === true;
    if (isOpened) {
      scrollToEnd();
      textField.focus();
      attend();
    }
  });
  if (!framed) return;
  document.body.classList.add("framed");
  byId("close").hidden = false;
  const close = () => window.parent.postMessage({ onevoice: "close" }, "*");
  byId("close").addEventListener("click", close);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
}

function start() {
  listen();
  nameField.value = recall("name") ?? "";
  textField.value = recall("draft") ?? "";
  fitComposer();
  show(waitingMessages().map(asItem), { live: false });
  if (started) openStream();
  else {
    drawStatus("online");
    byId("log").setAttribute("aria-live", "polite");
  }
  if (!navigator.onLine) {
    drawBanner(texts.offline);
    drawStatus("away");
  }
  flush();
  if (matchMedia("(hover: hover)").matches && isOpened) textField.focus();
}

start();
