/**
 * The fast lane beside node:http: whatever the lane takes, Node's parser reads the same, from method to content, and
 * what Node rejects the lane never takes. PACKETS sets how many are tried, SEED replays them.
 */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage } from "node:http";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { setImmediate as eventLoopTurn } from "node:timers/promises";

import { bounds } from "../../src/base/bounds.ts";
import { type PlainFields, readPlain } from "../../src/wire/plain-request.ts";
import { SeededRandom, seedFromEnvironment } from "../support/seeded-random.ts";
import { mutate, plainRequest, requests } from "./mutations.ts";

const packetCount = Number(process.env["PACKETS"] ?? 100_000);
const packetsAtOnce = 500;

/** A client that sends what it is given, and drops what it gets. */
class Client extends Duplex {
  override _read(): void {
    // The packets are emitted.
  }

  override _write(_bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    done();
  }
}

/** Reads packets by Node's parser. */
class NodeReader {
  readonly #server = createServer({ maxHeaderSize: bounds.fieldBytesMax, requireHostHeader: false });
  #client = new Client();
  #read: IncomingMessage[] = [];

  constructor() {
    this.#server.maxHeadersCount = 0;
    this.#server.on("request", (incoming, outgoing) => {
      this.#read.push(incoming);
      outgoing.end();
    });
    this.#server.on("clientError", () => assert.fail("Node rejects the packet"));
    this.connect();
  }

  connect(): void {
    this.#client.destroy();
    this.#client = new Client();
    this.#server.emit("connection", this.#client);
  }

  /** The one request that the packet is, whole. */
  read(packet: Buffer): IncomingMessage {
    this.#read = [];
    this.#client.emit("data", packet);
    const [incoming] = this.#read;
    assert.equal(this.#read.length, 1);
    assert.ok(incoming?.complete);
    return incoming;
  }
}

test(`of ${packetCount} packets, what the fast lane takes node:http reads the same`, async (context) => {
  const seed = seedFromEnvironment();
  context.diagnostic(`SEED=${seed}`);
  const random = new SeededRandom(seed);
  const node = new NodeReader();
  let takenCount = 0;
  let original: Buffer = Buffer.alloc(0);
  let known: PlainFields | undefined;
  let packet: Buffer = Buffer.alloc(0);
  try {
    for (let count = 0; count < packetCount; count++) {
      if (random.oneIn(3)) {
        original = random.oneIn(4) ? requests(random, "as_key") : plainRequest(random);
      }
      packet = mutate(random, original);
      // What is behind the request is the next one, for both.
      const plain = readPlain(packet, known);
      if (plain !== undefined && plain.content.length === plain.fields.contentLength) {
        takenCount++;
        known = plain.fields;
        const incoming = node.read(packet.subarray(0, plain.packetBytes));
        const { method, url, httpVersion, headers } = incoming;
        assert.deepEqual([plain.method, plain.target, "1.1"], [method, url, httpVersion]);
        assert.deepEqual({ ...plain.fields.headers }, { ...headers });
        assert.equal(Buffer.compare(plain.content, (incoming.read() as Buffer | null) ?? Buffer.alloc(0)), 0);
      }
      if (count % packetsAtOnce === 0) {
        await eventLoopTurn();
        node.connect();
      }
    }
  } catch (error) {
    throw new Error(`SEED=${seed}: ${JSON.stringify(packet.toString("latin1"))}`, { cause: error });
  }
  assert.ok(takenCount > packetCount / 10, `only ${takenCount} were taken`);
});
