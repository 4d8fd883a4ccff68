/**
 * The workloads: the requests, and what a correct response is. Every server gets the same bytes, except for the key.
 */

export const animalCount = 10_000;
/** How many different ids are asked for: too many to cache their responses. */
const randomIdCount = 4_096;
const sold = "limit=100&status=sold";

/**
 * @typedef {{ unlimited: string, exhausted: string }} Keys exhausted: one request a day, used up before the load
 * @typedef {{ status: number, fields: Record<string, string>, body: string }} ReceivedResponse
 * @typedef {object} Workload
 * @property {string} id
 * @property {string} title
 * @property {number} connections
 * @property {readonly number[]} statuses of a correct response; if some are errors, they are about half
 * @property {(keys: Keys) => string[]} requests raw HTTP/1.1, sent in a cycle; `{unique}` differs in each request sent
 * @property {(response: ReceivedResponse) => string | undefined} fault what is wrong with a response
 * @property {boolean} [writes] creates or changes animals
 * @property {boolean} [isDrawn] each round draws what it sends from the requests
 * @property {readonly string[]} [peers] that have what it measures; all if absent
 * @property {number} [goal] ratio to the floor that the service is to reach
 */

/** @type {readonly Workload[]} */
export const workloads = [
  list("W1", "list of 20, the first page", { goal: 1.15, targets: ["/v1/pets"] }),
  {
    ...list("W1i", "list of 20, ids of its own for each request", { goal: 1.1, targets: ["/v1/pets"] }),
    requests: (keys) => tracedRequests(keys),
  },
  list("W1R", "list of 20, at random", { goal: 1.1, targets: atRandom("/v1/pets?") }),
  list("W2", "list of 100 sold, the first page", { targets: [`/v1/pets?${sold}`] }),
  list("W2R", "list of 100 sold, at random", { goal: 0.7, targets: atRandom(`/v1/pets?${sold}&`) }),
  {
    id: "W3",
    title: "get by random id",
    goal: 1.3,
    connections: 64,
    statuses: [200],
    requests: (keys) => randomIds().map((id) => get(`/v1/pets/${id}`, keys.unlimited)),
    fault: (response) => faultOfAnimal(JSON.parse(response.body), randomIds()[0]),
  },
  { ...create("W4", 64), goal: 0.75 },
  {
    ...create("W4i", 64),
    title: "durable create with an Idempotency-Key",
    requests: (keys) => createRequests(keys, "Idempotency-Key: {unique}\r\n"),
    peers: ["fastify-grouped"],
  },
  create("W4b", 256),
  {
    id: "W5",
    title: "flood over the limit",
    goal: 1.35,
    connections: 64,
    statuses: [429],
    requests: (keys) => [get("/v1/pets", keys.exhausted)],
    fault: (response) => (fieldOf(response, "retry-after") === undefined ? "no Retry-After" : undefined),
  },
  {
    id: "W6",
    title: "flood without a valid key",
    connections: 64,
    // 401 until the address is over its limit, then 429. The peers do not count failed keys: always 401.
    statuses: [401, 429],
    requests: () => [get("/v1/pets", `as_${"x".repeat(43)}`)],
    fault: () => undefined,
  },
  {
    id: "W7",
    title: "durable change, half refused with 412",
    connections: 64,
    statuses: [200, 412],
    isDrawn: true,
    requests: changeRequests,
    fault: faultOfChange,
    writes: true,
    peers: ["fastify", "fastify-grouped", "go"],
  },
];

/** Nine reads, one durable create: for the tail. The reads are those of W1 and W3. */
export function mixedRequests(keys, withCreates) {
  const ids = randomIds();
  const creates = createRequests(keys);
  return Array.from({ length: 1_000 }, (_, index) => {
    if (index % 10 === 7 && withCreates) return creates[index % creates.length] ?? "";
    return index % 2 === 0 ? get("/v1/pets", keys.unlimited) : get(`/v1/pets/${ids[index]}`, keys.unlimited);
  });
}

/** @returns {string} a JSON-lines file of NewPet bodies, the same on every run */
export function animalLines(count) {
  const random = seeded(1);
  const statuses = ["available", "pending", "sold"];
  const lines = Array.from({ length: count }, (_, index) =>
    JSON.stringify({
      name: `Animal ${index + 1}`,
      categoryId: Math.floor(random() * 50),
      status: statuses[Math.floor(random() * statuses.length)],
    }),
  );
  return `${lines.join("\n")}\n`;
}

function list(id, title, { goal, targets }) {
  const isFiltered = targets[0].includes(sold);
  return {
    id,
    title,
    goal,
    connections: 64,
    statuses: [200],
    requests: (keys) => targets.map((target) => get(target, keys.unlimited)),
    fault: (response) => (isFiltered ? faultOfList(response, 100, "sold") : faultOfList(response, 20)),
  };
}

/** Where clients read that follow `Link`: pages after any animal but the last tenth, so that each page is full. */
function atRandom(target) {
  return randomIds().map((id) => `${target}after=${Math.floor(id * 0.9)}`);
}

function create(id, connections) {
  return {
    id,
    title: `durable create, ${connections} connections`,
    connections,
    statuses: [201],
    requests: (keys) => createRequests(keys),
    fault: (response) => faultOfAnimal(JSON.parse(response.body)),
    writes: true,
  };
}

/** @param {string} fieldLines further ones */
function createRequests(keys, fieldLines = "") {
  return Array.from({ length: 64 }, (_, index) => {
    const content = JSON.stringify({ name: `Newcomer ${index + 10}`, categoryId: index, status: "available" });
    return (
      `POST /v1/pets HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${keys.unlimited}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(content)}\r\n${fieldLines}\r\n${content}`
    );
  });
}

/** With the ids that most clients and proxies send, so many that those of one connection are others each time. */
function tracedRequests(keys) {
  const random = seeded(3);
  const word = () => Math.floor(random() * 2 ** 32).toString(16).padStart(8, "0");
  const hex = (words) => Array.from({ length: words }, word).join("");
  return Array.from({ length: randomIdCount }, () =>
    get("/v1/pets", keys.unlimited, `X-Request-Id: ${hex(4)}\r\ntraceparent: 00-${hex(4)}-${hex(2)}-01\r\n`),
  );
}

/**
 * Reserves and frees each animal. Drawn at random, half of these changes are refused. At first a third of the animals is
 * sold, which counts as not reserved. Animal 1 is available.
 */
function changeRequests(keys) {
  const changes = [
    { status: "pending", ifMatch: '"available", "sold"' },
    { status: "available", ifMatch: '"pending"' },
  ];
  return Array.from({ length: 2 * animalCount }, (_, index) => {
    const { status, ifMatch } = changes[index % 2];
    const content = JSON.stringify({ status });
    return (
      `PATCH /v1/pets/${(index >> 1) + 1} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${keys.unlimited}\r\n` +
      `If-Match: ${ifMatch}\r\nContent-Type: application/json\r\nContent-Length: ${content.length}\r\n\r\n${content}`
    );
  });
}

/** The first one reserves animal 1. Refused or not, it is reserved then. */
function faultOfChange(response) {
  if (!/^"pending(-\d+)?"$/.test(fieldOf(response, "etag") ?? "")) return "not the tag of an animal that is reserved";
  return response.status === 412 ? undefined : faultOfAnimal(JSON.parse(response.body), 1);
}

/** @param {string} fieldLines further ones */
function get(target, key, fieldLines = "") {
  return `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${key}\r\n${fieldLines}\r\n`;
}

function randomIds() {
  const random = seeded(2);
  return Array.from({ length: randomIdCount }, () => 1 + Math.floor(random() * animalCount));
}

function faultOfList(response, count, status) {
  const animals = JSON.parse(response.body);
  if (!Array.isArray(animals) || animals.length !== count) return `not ${count} animals`;
  if (!/rel="next"/.test(fieldOf(response, "link") ?? "")) return "no link to the next page";
  if (status !== undefined && animals.some((animal) => animal.status !== status)) return `not only ${status}`;
  const isAscending = animals.every((animal, index) => index === 0 || animal.id > animals[index - 1].id);
  if (!isAscending) return "not in the order of ids";
  return animals.map((animal) => faultOfAnimal(animal)).find((fault) => fault !== undefined);
}

function faultOfAnimal(animal, id = animal.id) {
  const isRight =
    Number.isSafeInteger(animal.id) &&
    animal.id === id &&
    typeof animal.name === "string" &&
    Number.isSafeInteger(animal.categoryId) &&
    ["available", "pending", "sold"].includes(animal.status) &&
    Object.keys(animal).length === 4;
  return isRight ? undefined : `not the animal asked for: ${JSON.stringify(animal)}`;
}

export function fieldOf(response, name) {
  return response.fields[name];
}

/** mulberry32: small, and the same numbers everywhere. */
function seeded(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
