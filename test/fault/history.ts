/**
 * One random history of a catalogue on a simulated disk, checked against a model.
 *
 * A history is some lives of the store: open, add in parallel while calls fail, die or close. The model knows for each
 * animal, by its name, which result the client received: acknowledged, refused, or unknown. After each start: the
 * acknowledged ones are there byte for byte, once, at their ids; ids have no gap; the refused ones are absent; an
 * unknown one may be there once and unchanged, and counts as acknowledged from then on, because readers saw it.
 * An add that carried a hash may be sent again in any life: its animal is still there only once.
 * At any time: what a reader sees would survive a loss of power in which every unsynced byte is lost; except after a
 * start that could not write, up to the first add that succeeds, also one that was sent again.
 */

import assert from "node:assert/strict";

import { type JsonText, OutcomeUnknownError, StorageUnavailableError } from "../../src/pets/pet-store.ts";
import { type NewPet, petStatuses } from "../../src/pets/pet.ts";
import { type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";

export const dataDir = "/pets";
export const logPath = "/pets/pets.jsonl";

/** What became of what, over all histories: a test that never met a kind of fault proves nothing about it. */
export interface Counts {
  lives: number;
  acknowledged: number;
  refused: number;
  unknown: number;
  unknownSeen: number;
  /** Adds that were sent again after their animal was acknowledged or seen. */
  repeated: number;
  deaths: number;
  tornTails: number;
  /** Starts that could not write. */
  unsure: number;
}

export function noCounts(): Counts {
  return { lives: 0, acknowledged: 0, refused: 0, unknown: 0, unknownSeen: 0, repeated: 0, deaths: 0, tornTails: 0, unsure: 0 };
}

interface Sent {
  readonly newPet: NewPet;
  readonly hash: string | undefined;
}

export class History {
  readonly disk: SimulatedDisk;
  readonly reports: string[] = [];
  readonly #random: SeededRandom;
  readonly #counts: Counts;
  /** By id - 1: the text that a client was sent, or that a reader saw. */
  readonly #acknowledged: string[] = [];
  /** The same by name. */
  readonly #textsByName = new Map<string, string>();
  readonly #refused = new Set<string>();
  readonly #unknown = new Map<string, NewPet>();
  /** Adds that carried a hash, by whatever became of them: each may be sent again at any time. */
  readonly #repeatable: Sent[] = [];
  /** How many adds of an animal are in progress. */
  readonly #inProgress = new Map<string, number>();
  #names = 0;
  /** The start could not write, and nothing has been acknowledged since. */
  #isUnsure = false;

  constructor(random: SeededRandom, counts: Counts) {
    this.#random = random;
    this.#counts = counts;
    this.disk = new SimulatedDisk(random);
  }

  async run(): Promise<void> {
    const lives = this.#random.integer(2, 5);
    for (let life = 0; life < lives; life++) {
      await this.#live(this.#randomFaults());
    }
    await this.#live(() => "none");
  }

  /** Opens, unless a fault of the disk prevents it. @throws when the store refuses what a crash left */
  async open(): Promise<JsonLinesPetStore | undefined> {
    const disk = this.disk.boot();
    this.#inProgress.clear(); // Adds of a dead process never settle.
    this.#isUnsure = false;
    const callsBefore = this.disk.calls;
    let failed = false;
    const plan = this.disk.plan;
    this.disk.plan = (call, name) => {
      const fault = plan(call, name);
      failed ||= fault === "error" || fault === "short" || fault === "blind";
      return fault;
    };
    let store: JsonLinesPetStore | undefined;
    const report = (message: string): void => {
      this.reports.push(message);
      this.#counts.tornTails += message.includes("was moved to") ? 1 : 0;
      this.#isUnsure ||= store === undefined && message.includes("cannot be written");
      this.#counts.unsure += this.#isUnsure ? 1 : 0;
    };
    const opening = openPetStore({ disk, dataDir, report }).catch((error: unknown) => {
      if (failed && (error as Error).name !== "DamagedLogError") { // Errors are all that is thrown there.
        return undefined;
      }
      const log = this.disk.seen(logPath).toString("latin1");
      throw new Error(`a start needs help after ${callsBefore} calls: ${String(error)}\n${log}`, { cause: error });
    });
    store = await Promise.race([opening, this.disk.death.then(() => undefined)]);
    this.disk.plan = plan;
    return store;
  }

  /** Adds `count` animals in parallel. Resolves when each add is settled, or the process died. */
  async addAll(store: JsonLinesPetStore, count: number): Promise<void> {
    const adding = this.#random.times(count, () => this.#add(store));
    await Promise.race([Promise.all(adding), this.disk.death]);
  }

  /** After a start: compares all with the model. */
  async compare(store: JsonLinesPetStore): Promise<void> {
    const page = await store.list({ after: 0, limit: 1_000_000, status: undefined });
    const texts = textsOf(page.json);
    assert.ok(texts.length >= this.#acknowledged.length, `${this.#acknowledged.length} acknowledged, ${texts.length} kept`);
    for (const [index, text] of texts.entries()) {
      const expected = this.#acknowledged[index];
      if (expected !== undefined) {
        assert.equal(text, expected, "an acknowledged animal has changed");
        continue;
      }
      const { id, name } = JSON.parse(text) as { id: number; name: string }; // The store's own JSON.
      assert.equal(id, index + 1, "ids have a gap");
      assert.ok(!this.#refused.has(name), `animal ${id}, which was refused, is there`);
      const newPet = this.#unknown.get(name);
      assert.ok(newPet !== undefined, `animal ${id} is there twice, or was never added`);
      assert.equal(text, textOf(id, newPet));
      if (this.#isUnsure) {
        continue;
      }
      this.#unknown.delete(name);
      this.#textsByName.set(name, text);
      this.#acknowledged[index] = text;
      this.#counts.unknownSeen++;
    }
    this.#assertDurable(texts);
  }

  async #live(plan: SimulatedDisk["plan"]): Promise<void> {
    this.#counts.lives++;
    this.disk.plan = plan;
    const store = await this.open();
    if (store === undefined) {
      return;
    }
    await Promise.race([this.#use(store), this.disk.death.then(() => this.#counts.deaths++)]);
  }

  async #use(store: JsonLinesPetStore): Promise<void> {
    await this.compare(store);
    const rounds = this.#random.integer(1, 6);
    for (let round = 0; round < rounds; round++) {
      const adding = this.addAll(store, this.#random.integer(1, 8));
      await this.#read(store);
      await adding;
      await this.#read(store);
      if (this.#random.oneIn(4)) {
        this.disk.plan = () => "none";
      }
    }
    if (this.#random.oneIn(2)) {
      await store.close().catch(() => undefined); // Closing may fail on a failing disk: nothing was promised then.
      return;
    }
    if (this.#random.oneIn(2)) {
      this.disk.killProcess();
    } else {
      this.disk.losePower();
    }
  }

  /** A reader, at any time. */
  async #read(store: JsonLinesPetStore): Promise<void> {
    for (let turns = this.#random.integer(0, 3); turns > 0; turns--) {
      await new Promise((resolve) => setImmediate(resolve));
      const { json } = await store.list({ after: 0, limit: 1_000_000, status: undefined });
      this.#assertDurable(textsOf(json));
    }
  }

  #assertDurable(texts: readonly string[]): void {
    if (this.#isUnsure) {
      return;
    }
    const kept = this.disk.kept(logPath).toString();
    let at = 0;
    for (const text of texts) {
      at = kept.indexOf(text.slice(0, -1), at);
      assert.ok(at >= 0, `a reader sees ${text} before it is durable`);
    }
  }

  /** Adds a new animal, or sends an earlier add again with its hash. */
  async #add(store: JsonLinesPetStore): Promise<void> {
    const sent = this.#repeatable.length > 0 && this.#random.oneIn(3) ? this.#random.pick(this.#repeatable) : this.#newAdd();
    const { newPet, hash } = sent;
    const { name } = newPet;
    const wasUnknown = this.#unknown.has(name);
    const isAcknowledged = this.#textsByName.has(name);
    if (!isAcknowledged) {
      // Unknown until the add is settled, which it never is if the process dies.
      this.#unknown.set(name, newPet);
      this.#refused.delete(name);
    }
    this.#inProgress.set(name, (this.#inProgress.get(name) ?? 0) + 1);
    try {
      const { id, json } = await store.add(newPet, hash);
      this.#isUnsure = false;
      this.#acknowledge(id, textOf(id, newPet), json, newPet);
    } catch (error) {
      if (error instanceof StorageUnavailableError) {
        if (!isAcknowledged && !wasUnknown && this.#inProgress.get(name) === 1) {
          this.#unknown.delete(name);
          this.#refused.add(name);
        }
        this.#counts.refused++;
      } else if (error instanceof OutcomeUnknownError) {
        this.#counts.unknown++;
      } else {
        throw error;
      }
    } finally {
      this.#inProgress.set(name, (this.#inProgress.get(name) ?? 1) - 1);
    }
  }

  #newAdd(): Sent {
    const number = this.#names++;
    const name = `${number} ${this.#random.pick(["Rex", "Żółw \"x\"", "\u{1F40D}\n", "long ".repeat(8)])}`;
    const categoryId = BigInt(this.#random.integer(0, 99));
    const newPet: NewPet = { name, categoryId, status: this.#random.pick(petStatuses) };
    const hash = this.#random.oneIn(2) ? `hash-${number}`.padEnd(22, "_") : undefined;
    if (hash !== undefined) {
      this.#repeatable.push({ newPet, hash });
    }
    return { newPet, hash };
  }

  #acknowledge(id: number, text: string, json: JsonText, { name }: NewPet): void {
    assert.equal(json.toString(), text);
    this.#counts.repeated += this.#textsByName.has(name) ? 1 : 0;
    assert.equal(this.#textsByName.get(name) ?? text, text, "an add that was repeated has added another animal");
    assert.equal(this.#acknowledged[id - 1] ?? text, text, `id ${id} was given twice`);
    this.#unknown.delete(name);
    this.#refused.delete(name);
    this.#textsByName.set(name, text);
    this.#acknowledged[id - 1] = text;
    this.#counts.acknowledged++;
  }

  /** Each kind of trouble alone and together, rare enough for something to succeed. */
  #randomFaults(): SimulatedDisk["plan"] {
    const random = this.#random;
    const kinds = random.pick<readonly Fault[]>([
      ["kill"],
      ["power"],
      ["short"],
      ["error"],
      ["blind"],
      ["short", "power"],
      ["short", "blind", "error", "power"],
    ]);
    const rarity = random.pick([3, 10, 25]);
    return () => (random.oneIn(rarity) ? random.pick(kinds) : "none");
  }
}

function textOf(id: number, { name, categoryId, status }: NewPet): string {
  return `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;
}

function textsOf(json: string | Uint8Array): string[] {
  const text = typeof json === "string" ? json : Buffer.from(json).toString();
  // No name in a history has a brace, so this is where one animal ends and the next begins.
  return text === "[]" ? [] : text.slice(1, -1).split(/(?<=\}),(?=\{)/);
}
