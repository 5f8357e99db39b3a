// Swaps the parts of the page that the server rendered anew. What somebody is writing, where they look and what they
// opened stays: fields marked data-keep keep their value, lists marked data-keyed change item by item, and of an item
// that changes the elements marked data-lasts stay.

const byId = (id) => document.getElementById(id);
const rendered = new Map(); // id → the server's last HTML of a part or of a keyed item

export function parse(html) {
  return new DOMParser().parseFromString(html, "text/html");
}

/** Remember what the server rendered, so that an unchanged part is left alone. */
export function remember(root) {
  for (const part of root.querySelectorAll("[data-part]")) {
    if (part.hasAttribute("data-keyed")) for (const item of part.children) rendered.set(item.id, item.outerHTML);
    else rendered.set(part.id, part.outerHTML);
  }
}

/** Apply every part of an answer. `keeps` names a predicate for parts whose fields survive. Returns the new items. */
export function swap(answer, { skips = [], keeps = () => true } = {}) {
  const added = [];
  for (const next of answer.querySelectorAll("[data-part]")) {
    const current = byId(next.id);
    if (!current || skips.includes(next.id)) continue;
    if (next.hasAttribute("data-keyed")) added.push(...reconcile(current, next));
    else replace(current, next, keeps(next.id));
  }
  return added;
}

function replace(current, next, keepsFields) {
  const html = next.outerHTML;
  if (keepsFields && rendered.get(next.id) === html) return;
  rendered.set(next.id, html);
  const focused = current.contains(document.activeElement) ? document.activeElement : null;
  const selection = focused && "selectionStart" in focused ? [focused.selectionStart, focused.selectionEnd] : null;
  if (keepsFields) for (const field of current.querySelectorAll("[data-keep]")) keep(field, next);
  for (const details of current.querySelectorAll("details[id]")) {
    const again = next.querySelector(`#${CSS.escape(details.id)}`);
    if (again && keepsFields) again.open = details.open;
  }
  current.replaceWith(document.adoptNode(next));
  const again = focused?.id ? byId(focused.id) : null;
  if (!again || again.disabled) return;
  again.focus({ preventScroll: true });
  if (selection && selection[0] !== null) again.setSelectionRange(...selection);
}

function keep(field, next) {
  const again = next.querySelector(`#${CSS.escape(field.id)}`);
  if (!again || again.hasAttribute("data-prefill")) return;
  if (field.type === "radio" || field.type === "checkbox") again.checked = field.checked;
  else again.value = field.value;
}

/** A player that plays and a picture that is there move into the new item; within one task a player plays on. */
function outlast(current, fresh) {
  for (const lasting of current.querySelectorAll("[data-lasts]")) {
    const again = fresh.querySelector(`#${CSS.escape(lasting.id)}`);
    if (again && again.getAttribute("src") === lasting.getAttribute("src")) again.replaceWith(lasting);
  }
}

function reconcile(list, next) {
  const added = [];
  const wanted = new Set();
  let place = list.firstElementChild;
  for (const item of [...next.children]) {
    wanted.add(item.id);
    const html = item.outerHTML;
    let current = byId(item.id);
    if (!current || !list.contains(current)) {
      current = document.adoptNode(item);
      list.insertBefore(current, place);
      added.push(current);
    } else {
      if (rendered.get(item.id) !== html) {
        const fresh = document.adoptNode(item);
        if (place === current) place = fresh;
        current.before(fresh);
        outlast(current, fresh);
        current.remove();
        current = fresh;
      }
      if (current === place) place = place.nextElementSibling;
      else list.insertBefore(current, place);
    }
    rendered.set(current.id, html);
  }
  for (const item of [...list.children]) {
    if (wanted.has(item.id)) continue;
    rendered.delete(item.id);
    item.remove();
  }
  return added;
}
