/**
 * Random histories of the key file on a simulated disk, like those of the catalogue in history.test.ts.
 *
 * A history is some lives of a process that makes, changes and revokes keys while calls fail, until it dies. The model is
 * the file as it was when the last change was acknowledged: later files begin with it, in memory and after a loss of
 * power, and a start with a disk that works succeeds without repairs by hand.
 */

import assert from "node:assert/strict";
import { test } from "node:test";

import type { Disk } from "../../src/disk/disk.ts";
import { KeyFile } from "../../src/folder/key-file.ts";
import { KeyError } from "../../src/keys/key.ts";
import { keysOver, type OpenKeys } from "../support/key-folder.ts";
import { ManualClock } from "../support/manual-clock.ts";
import { seededBytes } from "../support/random-bytes.ts";
import { seeded, SeededRandom } from "../support/seeded-random.ts";
import { type Fault, type Plan, SimulatedDisk } from "../support/simulated-disk.ts";

const historyCount = Number(process.env["HISTORIES"] ?? 100);
const dataDir = "/keys";
const path = "/keys/keys.jsonl";

/** Totals of all histories: each must occur, or the test proves nothing about it. */
interface Counts {
  acknowledged: number;
  rejected: number;
  deaths: number;
  setAside: number;
}

class KeyHistory {
  readonly disk: SimulatedDisk;
  readonly #random: SeededRandom;
  readonly #counts: Counts;
  readonly #clock = new ManualClock();
  readonly #randomBytes;
  /** Labels of keys that were not stored, as the error said. */
  readonly #refused = new Set<string>();
  #labels = 0;
  /** The file when the last change was acknowledged. */
  #acknowledged: Buffer = Buffer.alloc(0);

  constructor(random: SeededRandom, counts: Counts) {
    this.#random = random;
    this.#counts = counts;
    this.#randomBytes = seededBytes(random.uint32());
    this.disk = new SimulatedDisk(random);
  }

  /** One process: opens under the plan, makes so many changes, and dies unless the plan has killed it. */
  async live(plan: Plan, changeCount: number): Promise<void> {
    this.disk.plan = plan;
    const disk = this.disk.boot();
    const life = this.#changeKeys(disk, changeCount);
    const hasDied = await Promise.race([life.then(() => false), this.disk.death.then(() => true)]);
    this.#counts.deaths += hasDied ? 1 : 0;
    if (this.#random.oneIn(2)) {
      this.disk.killProcess();
    } else {
      this.disk.losePower();
    }
    this.#compare();
    this.#counts.setAside += this.disk.seen(`${path}.torn`).length > 0 ? 1 : 0;
  }

  async #changeKeys(disk: Disk, changeCount: number): Promise<void> {
    const store = await this.#open(disk);
    if (store === undefined) {
      return;
    }
    assert.deepEqual(store.keyring.list().filter(({ label = "" }) => this.#refused.has(label)), [], "a key that was refused is there");
    for (let change = 0; change < changeCount; change++) {
      const label = `${this.#labels++} ${this.#random.pick(["shop", "Żółw \u{1F40D}", "long ".repeat(11)])}`;
      try {
        await this.#change(store, label);
      } catch (error) {
        assert.match(String(error), /EIO|EACCES|could be written/);
        if (!String(error).includes("may have been stored")) {
          this.#refused.add(label);
        }
        this.#counts.rejected++;
        continue;
      }
      this.#acknowledged = this.disk.seen(path);
      this.#counts.acknowledged++;
      this.#compare();
    }
  }

  /** Returns undefined if the disk failed. @throws {Error} if the store rejects what a crash left */
  async #open(disk: Disk): Promise<OpenKeys | undefined> {
    const surroundings = { disk, clock: this.#clock, randomBytes: this.#randomBytes, report: () => undefined };
    try {
      return keysOver(await KeyFile.open({ ...surroundings, dataDir }), surroundings);
    } catch (error) {
      if (error instanceof KeyError) {
        throw new Error(`a start needs help: ${error.message}\n${this.disk.seen(path).toString("latin1")}`, { cause: error });
      }
      assert.match(String(error), /EIO|EACCES|could be written/);
      return undefined;
    }
  }

  async #change(store: OpenKeys, label: string): Promise<void> {
    const keys = store.keyring.list().filter((key) => key.revokedMs === undefined);
    const { id } = keys.length > 0 ? this.#random.pick(keys) : { id: undefined };
    if (id === undefined || this.#random.oneIn(2)) {
      await store.create({ label });
    } else {
      const expires = new Date(Date.UTC(2030, 0) + this.#labels); // Another one each time: there is always something to change.
      const changes = [() => store.revoke(id), () => store.label(id, label), () => store.expire(id, expires)];
      await this.#random.pick(changes)();
    }
  }

  #compare(): void {
    const acknowledged = this.#acknowledged;
    for (const [name, content] of [["seen", this.disk.seen(path)], ["kept", this.disk.kept(path)]] as const) {
      const isThere = content.subarray(0, acknowledged.length).equals(acknowledged);
      assert.ok(isThere, `acknowledged:\n${acknowledged.toString("latin1")}\n${name}:\n${content.toString("latin1")}`);
    }
  }
}

function randomPlan(random: SeededRandom): Plan {
  const kinds = random.pick<readonly Fault[]>([["kill"], ["power"], ["short"], ["error"], ["blind"], ["short", "blind", "error", "power"]]);
  const rarity = random.pick([5, 15, 40]);
  return () => (random.oneIn(rarity) ? random.pick(kinds) : "none");
}

test("KeyCommands loses no acknowledged change of a key, whatever the disk does and whenever the process dies", seeded(
  async (random) => {
    const counts: Counts = { acknowledged: 0, rejected: 0, deaths: 0, setAside: 0 };
    for (let index = 0; index < historyCount; index++) {
      const seed = random.uint32();
      try {
        const own = new SeededRandom(seed);
        const history = new KeyHistory(own, counts);
        for (let life = own.integer(2, 5); life > 0; life--) {
          await history.live(randomPlan(own), own.integer(1, 6));
        }
        await history.live(() => "none", 2);
      } catch (cause) {
        throw new Error(`history ${seed}: ${String(cause)}`, { cause });
      }
    }
    for (const [name, count] of Object.entries(counts)) {
      assert.ok(count > 0, `no history had any of: ${name}`);
    }
  },
));
