/**
 * One random history of a catalogue on a simulated disk, checked against a model.
 *
 * A history is some lives of the store: it opens, adds and changes in parallel while calls fail, and dies or closes. The
 * model knows for each animal, by its name, which result the client received: acknowledged, refused, or unknown. After
 * each start, acknowledged animals are there byte for byte, once, at their ids; ids have no gap; refused ones are
 * absent; an unknown one may be there once and unchanged, and counts as acknowledged then, because readers saw it. Each
 * animal has a state that the changes can have left, whatever their order was, or is removed, and no tag that a client
 * was told is ever another state's (state-model.ts). A request that carried a hash may be sent again in any life, or
 * a part of what it changed: it still happens only once, and has its first result. At any time, what a reader sees would
 * survive a loss of power in which every unsynced byte is lost; except after a start that could not write, up to the
 * first request that succeeds, also one that was sent again.
 */

import assert from "node:assert/strict";

import {
  type ChangeOutcome, IdempotencyConflictError, type JsonText, OutcomeUnknownError, type PetStore, type RemovalOutcome,
  StorageUnavailableError,
} from "../../src/pets/pet-store.ts";
import { type NewPet, type PetChange, petStatuses } from "../../src/pets/pet.ts";
import { shareOutcomes } from "../../src/pets/shared-outcomes.ts";
import { type JsonLinesPetStore, openPetStore } from "../../src/store/json-lines-pet-store.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { type Fault, SimulatedDisk } from "../support/simulated-disk.ts";
import { ifMatch } from "../support/store-suites/suite-steps.ts";
import { assertLinesReach, categories, idOf, statesIn } from "./log-states.ts";
import {
  type Attempt, type Attempted, isByTag, type State, StateModel, stateOf, textOf, textOfNew, withValues,
} from "./state-model.ts";

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
  changed: number;
  /** Of these, by a tag that was the animal's alone. */
  changedByTag: number;
  corrected: number;
  /** Changes of an animal that had none of their statuses and tags; of these, by tags alone. */
  mismatched: number;
  stale: number;
  /** Changes that were refused, or whose outcome is unknown. */
  unchanged: number;
  /** Changes that were sent again after they had succeeded, in the same life and in a later one. */
  rechanged: number;
  rechangedLater: number;
  /** Changes that were sent with the hash of one that had another result. */
  conflicted: number;
  removed: number;
  /** Adds, changes and removals that were sent again after their animal was removed. */
  afterRemoval: number;
  deaths: number;
  tornTails: number;
  failedStarts: number;
}

export function noCounts(): Counts {
  const added = { acknowledged: 0, refused: 0, unknown: 0, unknownSeen: 0, repeated: 0 };
  const changes = { changed: 0, changedByTag: 0, corrected: 0, mismatched: 0, stale: 0, unchanged: 0, removed: 0 };
  const repeated = { rechanged: 0, rechangedLater: 0, conflicted: 0, afterRemoval: 0 };
  return { lives: 0, ...added, ...changes, ...repeated, deaths: 0, tornTails: 0, failedStarts: 0 };
}

interface Sent {
  readonly newPet: NewPet;
  readonly hash: string | undefined;
}

interface SentChange extends Attempted {
  readonly id: number;
  /** Once it succeeded: in which life, and what it left. */
  result: { readonly life: number; readonly state: State } | undefined;
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
  readonly #states = new StateModel();
  /** Ids that a reader has missed, or a client was told of. */
  readonly #removed = new Set<number>();
  /** Changes that carried a hash, as `#repeatable`. */
  readonly #repeatableChanges: SentChange[] = [];
  #names = 0;
  #lives = 0;

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
    this.#states.endLife();
    this.#lives++;
    const callsBefore = this.disk.calls;
    let failed = false;
    const plan = this.disk.plan;
    this.disk.plan = (call, name) => {
      const fault = plan(call, name);
      failed ||= fault === "error" || fault === "short" || fault === "blind";
      return fault;
    };
    const report = (message: string): void => {
      this.reports.push(message);
      this.#counts.tornTails += message.includes("was moved to") ? 1 : 0;
    };
    const opening = openPetStore({ disk, dataDir, report }).catch((error: unknown) => {
      if (failed && (error as Error).name !== "DamagedLogError") { // Errors are all that is thrown there.
        this.#counts.failedStarts++;
        return undefined;
      }
      const log = this.disk.seen(logPath).toString("latin1");
      throw new Error(`a start needs help after ${callsBefore} calls: ${String(error)}\n${log}`, { cause: error });
    });
    const store = await Promise.race([opening, this.disk.death.then(() => undefined)]);
    this.disk.plan = plan;
    return store;
  }

  /** Adds and changes `count` animals in parallel. Resolves to true when all is settled, to false if the process died. */
  async workAll(store: JsonLinesPetStore, count: number): Promise<boolean> {
    const shared = shareOutcomes(store); // As the service does: a hash may be sent again while it is in progress.
    const working = this.#random.times(count, () => {
      return this.#acknowledged.length > 0 && this.#random.oneIn(2) ? this.#change(shared) : this.#add(shared);
    });
    const isAlive = await Promise.race([Promise.all(working).then(() => true), this.disk.death.then(() => false)]);
    if (isAlive) {
      this.#states.endRound();
    }
    return isAlive;
  }

  /** After a start: compares all with the model. */
  async compare(store: JsonLinesPetStore): Promise<void> {
    const states = statesIn(store);
    const ids = new Set(states.map(idOf));
    for (let id = 1; id <= Math.max(this.#acknowledged.length, ...ids); id++) {
      if (!ids.has(id)) {
        assert.ok(this.#acknowledged[id - 1] !== undefined, "ids have a gap");
        this.#states.see(id, "removed");
        this.#removed.add(id);
      }
    }
    for (const state of states) {
      const [id, text] = [idOf(state), textOf(state)];
      if (this.#acknowledged[id - 1] !== undefined) {
        this.#states.see(id, state);
        continue;
      }
      const { name } = JSON.parse(text) as NewPet; // The store's own JSON.
      assert.ok(!this.#refused.has(name), `animal ${id}, which was refused, is there`);
      const newPet = this.#unknown.get(name);
      assert.ok(newPet !== undefined, `animal ${id} is there twice, or was never added`);
      assert.equal(state, stateOf(textOfNew(id, newPet), 1));
      this.#unknown.delete(name);
      this.#textsByName.set(name, text);
      this.#acknowledged[id - 1] = text;
      this.#states.add(id, state);
      this.#counts.unknownSeen++;
    }
    this.#assertDurable(states);
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
      const working = this.workAll(store, this.#random.integer(1, 8));
      await this.#read(store);
      if (!(await working)) {
        return;
      }
      await this.compare(store);
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
      this.#assertDurable(statesIn(store));
    }
  }

  /** What a reader sees is what some of the first lines on disk come to. */
  #assertDurable(states: readonly State[]): void {
    assertLinesReach(states, this.disk.kept(logPath).toString());
  }

  /** Adds a new animal, or sends an earlier add again with its hash. */
  async #add(store: PetStore): Promise<void> {
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
      this.#counts.afterRemoval += this.#removed.has(id) ? 1 : 0;
      this.#acknowledge(id, textOfNew(id, newPet), json, newPet);
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

  /** Changes or removes an animal, or sends an earlier change or removal, or a part of it, again with its hash. */
  async #change(store: PetStore): Promise<void> {
    const isAgain = this.#repeatableChanges.length > 0 && this.#random.oneIn(3);
    const sent = isAgain ? this.#random.pick(this.#repeatableChanges) : this.#newChange();
    const { id, match, hash, result } = sent;
    if (result !== undefined && this.#random.oneIn(8)) {
      await assert.rejects(store.change(id, { name: "other" }, ifMatch(...match), hash), IdempotencyConflictError);
      this.#counts.conflicted++;
      return;
    }
    const change = result !== undefined && this.#random.oneIn(2) ? this.#partOf(sent.change) : sent.change;
    const attempt = this.#states.attempt(id, sent);
    try {
      const allowed = ifMatch(...match);
      const outcome = await (change === "removal" ? store.remove(id, allowed, hash) : store.change(id, change, allowed, hash));
      if (outcome.kind === "mismatch" || outcome.kind === "absent") {
        assert.ok(result === undefined, "a change that has succeeded is refused when it is repeated");
        attempt.outcome = { kind: "mismatch", tag: outcome.kind === "absent" ? "removed" : `${outcome.status}-${outcome.version}` };
        this.#counts.mismatched++;
        this.#counts.stale += isByTag(sent) ? 1 : 0;
        return;
      }
      this.#take(attempt, sent, outcome);
      assert.ok(isAgain || outcome.isReplay !== true, "a new change is taken for an earlier one");
    } catch (error) {
      if (error instanceof StorageUnavailableError) {
        attempt.outcome = { kind: "absent" };
      } else if (!(error instanceof OutcomeUnknownError)) {
        throw error;
      }
      this.#counts.unchanged++;
    }
  }

  /** Compares the outcome of a change that succeeded, now or earlier. */
  #take(attempt: Attempt, sent: SentChange, outcome: Extract<ChangeOutcome | RemovalOutcome, { kind: "changed" | "removed" }>): void {
    const { id, change, result } = sent;
    this.#counts.afterRemoval += this.#removed.has(id) ? 1 : 0;
    let state: State = "removed";
    if (outcome.kind === "removed") {
      this.#removed.add(id);
      this.#counts.removed++;
    } else {
      state = stateOf(String(outcome.json), outcome.version ?? assert.fail("a folder knows every version"));
      this.#states.tell(id, state);
    }
    assert.equal(state, result?.state ?? state, "a change that is repeated has another result");
    if (outcome.isReplay === true) {
      assert.ok(change === "removal" || withValues(textOf(state), change) === textOf(state), "it has what the change names");
      this.#counts[result === undefined || result.life === this.#lives ? "rechanged" : "rechangedLater"]++;
    } else {
      assert.ok(result === undefined, "a change happened twice");
      this.#counts.changed++;
      this.#counts.changedByTag += isByTag(sent) ? 1 : 0;
      this.#counts.corrected += change !== "removal" && (change.name ?? change.categoryId) !== undefined ? 1 : 0;
    }
    attempt.outcome = outcome.isReplay === true ? { kind: "absent" } : { kind: "changed", state };
    sent.result ??= { life: this.#lives, state };
  }

  /** Each value that a change named is in its result, so that a repeated change may name any of them. */
  #partOf(change: PetChange | "removal"): PetChange | "removal" {
    return change === "removal" ? change : Object.fromEntries([this.#random.pick(Object.entries(change))]);
  }

  #newChange(): SentChange {
    const random = this.#random;
    const id = random.integer(1, this.#acknowledged.length);
    const tags = this.#states.tagsOf(id);
    const match = random.pick([["available"], ["pending", "sold"], petStatuses, tags.slice(-1), [random.pick(["x", ...tags])]]);
    const hash = random.oneIn(2) ? `change-${this.#names++}`.padEnd(22, "_") : undefined;
    const [status, name, categoryId] = [random.pick(petStatuses), random.pick(["Rex", "Żółw", "long ".repeat(8)]), random.pick(categories)];
    const changes: readonly PetChange[] = [{ status }, { status }, { name }, { categoryId, status }, { name, categoryId, status }];
    const change = random.oneIn(6) ? "removal" : random.pick(changes);
    const sent: SentChange = { id, match, change, hash, result: undefined };
    if (hash !== undefined) {
      this.#repeatableChanges.push(sent);
    }
    return sent;
  }

  #newAdd(): Sent {
    const number = this.#names++;
    const name = `${number} ${this.#random.pick(["Rex", "Żółw \"x\"", "\u{1F40D}\n", "long ".repeat(8)])}`;
    const categoryId = this.#random.pick(categories);
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
    this.#states.add(id, stateOf(text, 1));
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
