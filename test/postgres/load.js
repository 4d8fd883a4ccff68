/**
 * Clients that add, reserve and read animals through several instances, and record what they are told; and a check of
 * what is in the database against it.
 */

import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { newClient } from "../../build/test/support/client.js";

/** After a request that was not served. */
const pauseMs = 20;
const heartbeatMs = 10;
/** Clients reserve one of so many last animals: often two want the same one. */
const wantedMax = 8;
/** 412: somebody else has reserved the animal; 404: or removed it. */
export const servedStatuses = [200, 201, 204, 404, 412];
/** One of so many reservations is a removal instead. */
const removalOf = 4;

/**
 * Starts clients that send one request after another, to one instance each, until `stop()`, which resolves with the
 * record. Every second client is a reader, of the last animal added and of lists, also by status. The others create an
 * animal, correct one out of its first version, and reserve one, which changes it from available to pending, or remove one. Half of their requests have an `Idempotency-Key`,
 * and are repeated at the next instance until they are served: after a broken connection, a 503 or no response within
 * `timeoutMs`.
 *
 * @param context a test: its end ends the load too, if the test has failed
 * @param targets `{ origin }` of each instance
 * @param isReadOnly every client is a reader
 * @param restMs after a request that was served
 * @param name what the names of its animals begin with
 */
export function startLoad(context, targets, key, { clients = 8, timeoutMs = 15_000, isReadOnly = false, restMs = 0, name: first = "animal" } = {}) {
  const senders = targets.map((target) => newClient(target, key, { connections: clients, timeoutMs }));
  const record = newRecord(targets.length);
  const heart = setInterval(() => record.heartbeats.push(performance.now()), heartbeatMs);
  let isStopping = false;
  let isAbandoned = false;
  let names = 0;
  const close = () => {
    clearInterval(heart);
    senders.forEach((sender) => sender.close());
  };
  context.after(() => {
    isStopping = true;
    isAbandoned = true;
    close();
  });

  /** @param send a sender's request, with the name of its animal or reservation. @returns whether it was served */
  async function write(place, isRepeated, send) {
    const name = `${first}-${names++}`;
    const fields = isRepeated ? { "idempotency-key": `"${name}"` } : {};
    for (let turn = place; ; turn += 1) {
      const response = await record.observe(turn % senders.length, () => send(senders[turn % senders.length], name, fields));
      const isServed = record.note(name, response);
      if (isServed || !isRepeated || isAbandoned) {
        return isServed;
      }
      await setTimeout(pauseMs);
    }
  }

  function add(place, isRepeated) {
    return write(place, isRepeated, (sender, name, fields) => sender.add({ name, categoryId: 1 }, fields));
  }

  function reserve(place, isRepeated) {
    const { id } = record.added.at(-1 - Math.floor(Math.random() * Math.min(wantedMax, record.added.length)));
    return write(place, isRepeated, (sender, name, fields) => {
      record.wanted.set(name, id);
      const headers = { "if-match": "available", ...fields };
      const isRemoval = Number(/\d+$/.exec(name)) % removalOf === 0;
      if (isRemoval) {
        record.removals.add(name);
      }
      return isRemoval ? sender.send("DELETE", `/v1/pets/${id}`, { headers }) : sender.change(id, "pending", headers);
    });
  }

  /** Gives one of the last animals another category, if nobody has changed it before. */
  function correct(place, isRepeated) {
    const { id } = record.added.at(-1 - Math.floor(Math.random() * Math.min(wantedMax, record.added.length)));
    return write(place, isRepeated, (sender, name, fields) => {
      const categoryId = Number(/\d+$/.exec(name)) + 2;
      record.corrections.set(name, { id, categoryId });
      const content = JSON.stringify({ categoryId });
      const headers = { "content-type": "application/json", "content-length": content.length, "if-match": '"available-1"', ...fields };
      return sender.send("PATCH", `/v1/pets/${id}`, { headers, content });
    });
  }

  async function read(place, round) {
    const [animal] = record.added.slice(-1);
    const paths = ["/v1/pets?limit=1", "/v1/pets?status=pending", "/v1/pets?categoryId=1&limit=2", ...(animal === undefined ? [] : [`/v1/pets/${animal.id}`])];
    return (await record.observe(place, () => senders[place].get(paths[round % paths.length]))).status === 200;
  }

  async function run(index) {
    const place = index % senders.length;
    for (let round = 0; !isStopping; round += 1) {
      const isWriter = !isReadOnly && Math.floor(index / senders.length) % 2 === 0;
      const isRepeated = round % 2 === 0;
      const isServed = isWriter ? (await add(place, isRepeated)) && (await correct(place, isRepeated)) && (await reserve(place, isRepeated)) : await read(place, round);
      await setTimeout(isServed ? restMs : pauseMs);
    }
  }

  const running = Array.from({ length: clients * targets.length }, (_, index) => run(index));
  return {
    record,
    /** Lets every client finish what it has begun. */
    async stop() {
      isStopping = true;
      await Promise.all(running);
      close();
      return record;
    },
  };
}

function newRecord(places) {
  return {
    /** Every response, and every request without one (status 0): `{ place, sentAt, at, status, code, remaining, text }`. */
    responses: [],
    /** The ids and names of every 201. */
    added: [],
    /** The id that each reservation is for, by its name; and the names of those that have a 200 or 204. */
    wanted: new Map(),
    reserved: [],
    /** Those of the names that are of removals. */
    removals: new Set(),
    /** What each correction was, by its name; and the names of those that have a 200. */
    corrections: new Map(),
    corrected: [],
    /** Names of which the last word was that nothing was stored, and those of which nobody knows. */
    refused: new Set(),
    unknown: new Set(),
    /** When this process ran. */
    heartbeats: [],

    async observe(place, send) {
      const sentAt = performance.now();
      const { status, headers, text } = await send().catch(() => ({ status: 0, headers: {}, text: "" }));
      const remaining = Number(headers["x-ratelimit-remaining"]);
      const code = status >= 400 ? JSON.parse(text).code : undefined;
      assert.ok([0, 503, ...servedStatuses].includes(status), text);
      const response = { place, sentAt, at: performance.now(), status, code, remaining, text };
      this.responses.push(response);
      return response;
    },

    /** Notes what a create or a reservation has been told. @returns whether it was served */
    note(name, { status, code, text }) {
      const isServed = servedStatuses.includes(status);
      if (isServed) {
        this.refused.delete(name);
        this.unknown.delete(name);
      } else if (code === "storage_unavailable" && !this.unknown.has(name)) {
        this.refused.add(name);
      } else {
        this.refused.delete(name);
        this.unknown.add(name);
      }
      if (status === 201) {
        this.added.push({ id: JSON.parse(text).id, name });
      } else if (status === 200 || status === 204) {
        (this.corrections.has(name) ? this.corrected : this.reserved).push(name);
      }
      return isServed;
    },

    /** The successful responses of an instance, the earliest first. */
    servedBy(place) {
      return this.responses.filter((one) => one.place === place && servedStatuses.includes(one.status)).sort((a, b) => a.at - b.at);
    },

    /** The longest time in which an instance that was asked served nothing, though this process ran, in milliseconds. */
    longestGapMs(place, fromMs = 0) {
      const times = this.servedBy(place).map(({ at }) => at).filter((at) => at >= fromMs);
      const gaps = times.slice(1).map((at, index) => at - times[index] - this.longestPauseMs(times[index], at));
      return Math.max(0, ...gaps);
    },

    /** A busy machine may stop all processes for a while. */
    longestPauseMs(fromMs, toMs) {
      const beats = this.heartbeats.filter((at) => at >= fromMs && at <= toMs);
      return Math.max(...[...beats, toMs].map((at, index) => at - (beats[index - 1] ?? fromMs))) - heartbeatMs;
    },

    places: Array.from({ length: places }, (_, place) => place),
  };
}

/**
 * Nothing acknowledged is lost, nothing is there twice, nothing refused is there, and ids are 1 to n. An animal that was
 * reserved is pending, and has one owner; one that was removed is gone, and nobody has reserved it. One that was corrected
 * was corrected once, and stays so. Its version counts its changes.
 */
export async function assertNothingLostOrDoubled(postgres, url, record) {
  const { added, wanted, reserved, removals, corrections, corrected, refused, unknown } = record;
  const text = `SELECT id::float8 AS id, name, status, version, category_id::float8 AS category FROM animal_store.pets
    UNION ALL SELECT id, added ->> 1, 'removed', NULL, NULL FROM animal_store.removed ORDER BY id`;
  const rows = await postgres.query(text, [], url);
  rows.forEach(({ id }, index) => assert.equal(id, index + 1, "ids have no gaps"));
  const ids = new Map(rows.map(({ id, name }) => [name, id]));
  assert.equal(ids.size, rows.length, "no animal is there twice");
  const wrong = added.filter(({ id, name }) => ids.get(name) !== id);
  assert.deepEqual(wrong, [], "every acknowledged animal is there, with its id");
  const present = [...refused].filter((name) => ids.has(name));
  assert.deepEqual(present, [], "no animal is there of which it was said that it was not stored");
  const fateBy = (name) => (removals.has(name) ? "removed" : "pending");
  const owned = new Map(reserved.map((name) => [wanted.get(name), fateBy(name)]));
  assert.equal(owned.size, reserved.length, "no animal has two owners");
  const doubtful = [...unknown].map((name) => [wanted.get(name), fateBy(name)]);
  const mayBe = (id) => (owned.has(id) ? [owned.get(id)] : ["available", ...doubtful.filter(([one]) => one === id).map(([, fate]) => fate)]);
  const astray = added.filter(({ id }) => !mayBe(id).includes(rows[id - 1].status));
  assert.deepEqual(astray, [], "an animal is pending if and only if it has an owner, and gone if and only if it was removed");
  const categories = new Map(corrected.map((name) => [corrections.get(name).id, corrections.get(name).categoryId]));
  assert.equal(categories.size, corrected.length, "no animal was corrected twice out of one version");
  const mayHave = new Map([...unknown].map((name) => corrections.get(name)).filter(Boolean).map(({ id, categoryId }) => [`${id} ${categoryId}`, id]));
  const wrongly = added.map(({ id }) => rows[id - 1]).filter(({ id, status, version, category }) => {
    const isRight = category === (categories.get(id) ?? 1) || (!categories.has(id) && mayHave.has(`${id} ${category}`));
    return status !== "removed" && !(isRight && version === 1 + Number(category !== 1) + Number(status === "pending"));
  });
  assert.deepEqual(wrongly, [], "an animal has its correction, and a version for each change");
}

/** No Remaining is shown twice, as long as no window ends meanwhile. */
export function assertEachRemainingOnce({ responses }) {
  const shown = responses.filter(({ status }) => servedStatuses.includes(status)).map(({ remaining }) => remaining);
  assert.equal(new Set(shown).size, shown.length, "each Remaining is shown once");
}
