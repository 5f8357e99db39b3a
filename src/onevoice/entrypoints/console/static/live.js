// Hears which conversations changed. Of all windows of a browser one holds the stream and tells the others, so that
// many windows do not use up the browser's connections. A poll covers whatever a broken stream missed.

const POLL_MILLISECONDS = 30_000;
const LOCK = "onevoice console stream";

/** Calls `changed(ids)`, ids null for "anything", `connected(isConnected)` and `signedOut()`. */
export function listen(base, { changed, connected, signedOut }) {
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(LOCK) : null;
  const handle = (message) => {
    if (message.kind === "changed") changed(message.conversations);
    else if (message.kind === "connected") connected(message.is);
    else if (message.kind === "signed_out") signedOut();
  };
  const tell = (message) => {
    handle(message);
    channel?.postMessage(message);
  };
  if (channel) channel.onmessage = (event) => handle(event.data);
  const open = () =>
    new Promise((end) => {
      const stream = new EventSource(`${base}/events`);
      stream.addEventListener("ready", () => {
        tell({ kind: "connected", is: true });
        // Whatever happened before the stream was there.
        tell({ kind: "changed", conversations: null });
      });
      stream.addEventListener("changed", (event) => {
        tell({ kind: "changed", conversations: JSON.parse(event.data).conversations });
      });
      stream.addEventListener("signed_out", () => {
        stream.close();
        tell({ kind: "signed_out" });
        end();
      });
      stream.addEventListener("error", () => {
        tell({ kind: "connected", is: false });
        if (stream.readyState !== EventSource.CLOSED) return;
        setTimeout(() => open().then(end), 5000);
        // Why it was refused shows in the answer to a part: signed out, or the server is away.
        changed(null);
      });
    });
  if (navigator.locks && channel) navigator.locks.request(LOCK, open);
  else open();
  setInterval(() => changed(null), POLL_MILLISECONDS);
}

let audio = null;

/** Two soft tones; a browser allows them once its user has pressed anything. */
export function chime() {
  audio ??= new AudioContext();
  for (const [delay, frequency] of [[0, 660], [0.14, 880]]) {
    const tone = audio.createOscillator();
    const volume = audio.createGain();
    const at = audio.currentTime + delay;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(0.0001, at);
    volume.gain.exponentialRampToValueAtTime(0.12, at + 0.02);
    volume.gain.exponentialRampToValueAtTime(0.0001, at + 0.3);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + 0.32);
  }
}
