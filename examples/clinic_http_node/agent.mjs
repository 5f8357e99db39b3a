// A clinic's receptionist behind HTTP, in Node and nothing else: it checks the signature, asks before it writes,
// and answers with messages, a handoff, or nothing.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

const secret = process.env.AGENT_SECRET ?? "change-me";
const onevoice = process.env.ONEVOICE_URL ?? "http://127.0.0.1:8080";
const free = { sexta: "9h", "sábado": "10h" };
const diary = new Map();

const sign = (body) => "sha256=" + createHmac("sha256", secret).update(body).digest("hex");

function isSigned(body, given = "") {
  const expected = Buffer.from(sign(body));
  const actual = Buffer.from(given);
  return expected.length === actual.length && timingSafeEqual(expected, actual);
}

async function call(path, content) {
  const body = JSON.stringify(content);
  const answer = await fetch(onevoice + path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-onevoice-signature": sign(body) },
    body,
  });
  return { status: answer.status, content: await answer.json() };
}

// Returns null where the write was refused: the turn is over, and nothing is said.
async function book(turn, contact, day) {
  const asked = await call(`/api/v1/turns/${turn.id}/effects`, { tool: "book", args: { contact, day } });
  if (asked.status === 200) return asked.content.result;
  if (asked.status !== 201) return null;
  diary.set(contact, day);
  const result = `Marcado para ${day} às ${free[day]}.`;
  await call(`/api/v1/effects/${asked.content.effect}`, { state: "done", result });
  return result;
}

async function answer({ turn, conversation, effects, messages }) {
  const said = messages.map((message) => message.transcription ?? message.text ?? "").join(" ").toLowerCase();
  if (/humano|pessoa/.test(said)) return { handoff: { reason: "customer_request" } };
  if (effects.length > 0) return { messages: [{ text: `Já estava feito: ${effects[0].result}` }], wrote: true };
  const day = said.match(/[\p{L}]+/gu)?.filter((word) => word in free).at(-1);
  if (!day) return { messages: [{ text: "Temos sexta às 9h e sábado às 10h. Qual prefere?" }] };
  const result = await book(turn, conversation.contact.id, day);
  return result === null ? {} : { messages: [{ text: result }], wrote: true };
}

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  if (!isSigned(body, request.headers["x-onevoice-signature"])) return response.writeHead(401).end();
  const proposal = await answer(JSON.parse(body.toString()));
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(proposal));
});

server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
