/**
 * The peers' store. Animals are kept in memory, as the service keeps them, so reads compare the HTTP stacks and not
 * databases (the same rows selected from SQLite cost 20 µs for W1 and 90 for W2, measured). What makes them durable is
 * better-sqlite3 in WAL mode with synchronous=FULL: a commit that has returned outlives a power loss, as in the
 * service. One insert or change a commit, unless it is asked for groups.
 *
 * In the peers' favour: a categoryId is a double, not an exact int64, and what a client sends again under its token is
 * not compared with what it sent before, nor forgotten after a day.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";

const fileName = "pets.sqlite";
const statusDefault = "available";

/** @typedef {{ id: number, name: string, categoryId: number, status: string }} Animal */

export class Animals {
  /** @type {Animal[]} the animal with the id n is at n - 1 */
  #all = [];
  /** @type {Map<string, Animal[]>} */
  #byStatus = new Map();
  /** @type {Map<string, Promise<Animal>>} by client and token: what is or will be created for it */
  #byToken = new Map();
  #insert;
  #insertToken;
  #update;
  #runAll;
  /** @type {{ write: () => unknown, keep: (written: unknown) => unknown, resolve: (kept: unknown) => void, reject: (error: Error) => void }[]} */
  #waiting = [];

  /**
   * @param {string} folder new and empty
   * @param {string} file JSON lines of NewPet, added in one commit
   */
  constructor(folder, file) {
    const database = new Database(join(folder, fileName));
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = FULL");
    assertDurable(database);
    database.exec(`CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, categoryId INTEGER NOT NULL,
      status TEXT NOT NULL, changes INTEGER NOT NULL DEFAULT 0);
      CREATE TABLE tokens (token TEXT PRIMARY KEY, id INTEGER NOT NULL) WITHOUT ROWID`);
    this.#insert = database.prepare("INSERT INTO pets (name, categoryId, status) VALUES (?, ?, ?)");
    this.#insertToken = database.prepare("INSERT INTO tokens (token, id) VALUES (?, ?)");
    this.#update = database.prepare(
      `UPDATE pets SET status = ?, changes = changes + 1 WHERE id = ? AND instr(?, '"' || status || '"') > 0`,
    );
    this.#runAll = database.transaction((writes) => writes.map((write) => write()));
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    const inserts = lines.map((line) => () => this.#insertOne(JSON.parse(line)));
    for (const animal of this.#runAll(inserts)) this.#keep(animal);
  }

  /** One commit, on disk when it returns. */
  create(newPet) {
    return this.#keep(this.#insertOne(newPet));
  }

  /**
   * One commit for all that arrive in a turn of the event loop.
   *
   * @param {string} [token] of the client: the animal that was created for it before is not created again
   */
  createInGroup(newPet, token) {
    if (token === undefined) return this.#inGroup(() => this.#insertOne(newPet), (animal) => this.#keep(animal));
    const earlier = this.#byToken.get(token);
    if (earlier !== undefined) return earlier;
    const write = () => {
      const animal = this.#insertOne(newPet);
      this.#insertToken.run(token, animal.id);
      return animal;
    };
    const created = this.#inGroup(write, (animal) => this.#keep(animal));
    this.#byToken.set(token, created);
    return created;
  }

  /**
   * One commit, on disk when it returns, unless the animal has another status than those that `ifMatch` names.
   *
   * @param {Animal} animal
   * @param {string} status
   * @param {string} ifMatch a list of tags, without "*"
   * @returns {boolean} whether it was changed
   */
  change(animal, status, ifMatch) {
    return ifMatch.includes(tagOf(animal.status)) && this.#move(animal, status, this.#updateOne(animal, status, ifMatch));
  }

  /** As `create` and `createInGroup`. Of two changes of one animal in a group the second finds what the first has written. */
  async changeInGroup(animal, status, ifMatch) {
    if (!ifMatch.includes(tagOf(animal.status))) return false;
    const write = () => this.#updateOne(animal, status, ifMatch);
    return this.#inGroup(write, (isWritten) => this.#move(animal, status, isWritten));
  }

  get(id) {
    return this.#all[id - 1];
  }

  /**
   * @param {{ limit?: number, status?: string, after?: number }} query
   * @returns {{ animals: Animal[], next: string | undefined }} next: value of the Link field
   */
  list({ limit = 20, status, after = 0 }) {
    const matching = status === undefined ? this.#all : this.#ofStatus(status);
    const first = status === undefined ? after : indexAfter(matching, after);
    const animals = matching.slice(first, first + limit);
    if (matching.length <= first + limit) return { animals, next: undefined };
    const filter = status === undefined ? "" : `&status=${status}`;
    return { animals, next: `</v1/pets?limit=${limit}${filter}&after=${animals[limit - 1].id}>; rel="next"` };
  }

  #insertOne({ name, categoryId, status = statusDefault }) {
    const { lastInsertRowid } = this.#insert.run(name, categoryId, status);
    return { id: lastInsertRowid, name, categoryId, status };
  }

  #keep(animal) {
    this.#all.push(animal);
    this.#ofStatus(animal.status).push(animal);
    return animal;
  }

  #updateOne({ id }, status, ifMatch) {
    return this.#update.run(status, id, ifMatch).changes === 1;
  }

  #move(animal, status, isWritten) {
    if (!isWritten) return false;
    const before = this.#ofStatus(animal.status);
    before.splice(indexAfter(before, animal.id - 1), 1);
    const after = this.#ofStatus(status);
    after.splice(indexAfter(after, animal.id), 0, animal);
    animal.status = status;
    return true;
  }

  #ofStatus(status) {
    if (!this.#byStatus.has(status)) this.#byStatus.set(status, []);
    return this.#byStatus.get(status);
  }

  #inGroup(write, keep) {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ write, keep, resolve, reject }) === 1) setImmediate(() => this.#commitGroup());
    });
  }

  #commitGroup() {
    const group = this.#waiting;
    this.#waiting = [];
    try {
      const written = this.#runAll(group.map(({ write }) => write));
      for (const [index, { keep, resolve }] of group.entries()) resolve(keep(written[index]));
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}

export function tagOf(status) {
  return `"${status}"`;
}

/** The animals and their changes, of a folder whose server has ended. */
export function countKept(folder) {
  const database = new Database(join(folder, fileName));
  const { count } = database.prepare("SELECT count(*) + sum(changes) AS count FROM pets").get();
  database.close();
  return count;
}

/** @returns {number} index of the first animal whose id is above `after` */
function indexAfter(animals, after) {
  let low = 0;
  let high = animals.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (animals[middle].id > after) high = middle;
    else low = middle + 1;
  }
  return low;
}

function assertDurable(database) {
  const mode = database.pragma("journal_mode", { simple: true });
  const synchronous = database.pragma("synchronous", { simple: true });
  if (mode !== "wal" || synchronous !== 2) {
    throw new Error(`Cannot use SQLite: must be wal and 2, are ${mode} and ${synchronous}`);
  }
}
