/** Certificates and keys as operators have them: which pairs are taken, and what is said of them. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { readPair, remarksOn } from "../../src/tls/pair.ts";
import { keepPair, keyTypes, makePair, noOpenssl, one, openssl, type Pair, two } from "../support/certificates.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const types = Object.keys(keyTypes) as (keyof typeof keyTypes)[]; // Object.keys() forgets their type.

test("a key that is not the certificate's is refused whatever their types", { skip: noOpenssl }, async (context) => {
  const folder = temporaryFolder(context);
  const makeAll = (): readonly Pair[] => types.map((type) => makePair(context, { type }));
  const [pairs, others] = [makeAll(), makeAll()];
  for (const [row, { cert, key }] of pairs.entries()) {
    const own = keepPair(folder, { cert, key });
    assert.equal((await readPair(own)).paths, own, types[row]);
    for (const [column, other] of others.entries()) {
      const paths = keepPair(folder, { cert, key: other.key });
      const message = `${paths.key} is not the key of the first certificate in ${paths.cert}`;
      await assert.rejects(readPair(paths), { message }, `${types[row]} certificate, ${types[column]} key`);
    }
  }
});

test("each message names the file at fault, and the reason in words", { skip: noOpenssl }, async (context) => {
  const folder = temporaryFolder(context);
  const made = makePair(context, { type: "RSA" });
  const { cert, key } = keepPair(folder, made);
  const other = (name: string, text: string | Uint8Array): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const inFolder = (name: string): string => join(folder, name);
  openssl("pkcs8", "-topk8", "-in", key, "-passout", "pass:x", "-out", inFolder("pkcs8"));
  openssl("rsa", "-aes128", "-traditional", "-in", key, "-passout", "pass:x", "-out", inFolder("traditional"));
  openssl("pkey", "-in", key, "-outform", "der", "-out", inFolder("key.der"));
  openssl("x509", "-in", cert, "-outform", "der", "-out", inFolder("cert.der"));
  const empty = other("empty", "");
  const damaged = other("damaged", made.cert.replace(/M/g, "N"));
  const damagedKey = other("damaged-key", made.key.replace(/M/g, "N"));
  const half = other("half", made.cert.slice(0, made.cert.length / 2));
  const halfChain = other("half-chain", `${made.cert}${made.cert}`.slice(0, -5));
  const halfKey = other("half-key", made.key.slice(0, made.key.length / 2));
  const table: readonly (readonly [cert: string, key: string, atFault: string, reason: RegExp])[] = [
    [cert, inFolder("pkcs8"), inFolder("pkcs8"), /^ is encrypted: /],
    [cert, inFolder("traditional"), inFolder("traditional"), /^ is encrypted: /],
    [cert, inFolder("key.der"), inFolder("key.der"), /^ is not PEM$/],
    [inFolder("cert.der"), key, inFolder("cert.der"), /^ is not PEM$/],
    [empty, key, empty, /^ is empty$/],
    [cert, empty, empty, /^ is empty$/],
    [key, cert, key, /^ has no certificate, but a private key$/],
    [cert, cert, cert, /^ has no private key, but a certificate$/],
    [half, key, half, /^ is not whole: /],
    [halfChain, key, halfChain, /^ is not whole: /],
    [cert, halfKey, halfKey, /^ is not whole: /],
    [damaged, key, damaged, /^ cannot be used: ./],
    [cert, damagedKey, damagedKey, /^ cannot be used: ./],
    [inFolder("none"), key, `ENOENT: no such file or directory, open '${inFolder("none")}`, /^'$/],
    [cert, folder, folder, /^: EISDIR/],
  ];
  for (const [usedCert, usedKey, atFault, reason] of table) {
    await assert.rejects(readPair({ cert: usedCert, key: usedKey }), ({ message }: Error) => {
      assert.ok(message.startsWith(atFault), `${message} ${atFault}`);
      assert.match(message.slice(atFault.length), reason);
      return true;
    });
  }
  const both = other("both", `${made.key}${made.cert}`);
  assert.deepEqual((await readPair({ cert: both, key: both })).cert, readFileSync(both));
});

test("a certificate that has expired, is not valid yet, or ends within 14 days is told", async (context) => {
  const pair = await readPair(keepPair(temporaryFolder(context), one));
  const [beginMs, endMs, dayMs] = [Date.UTC(2026, 10, 25, 18, 8, 55), Date.UTC(2126, 10, 1, 18, 8, 55), 86_400_000];
  const table = [
    [beginMs - 1, "is not valid before 2026-11-25T18:08:55Z"],
    [beginMs, undefined],
    [endMs - 14 * dayMs - 1, undefined],
    [endMs - 14 * dayMs, "expires in 14 days, at 2126-11-01T18:08:55Z"],
    [endMs - 1, "expires in 0 days, at 2126-11-01T18:08:55Z"],
    [endMs, "is expired since 2126-11-01T18:08:55Z"],
  ] as const;
  for (const [nowMs, words] of table) {
    const expected = words === undefined ? [] : [[`the certificate in ${pair.paths.cert} ${words}`, "warning"]];
    assert.deepEqual(remarksOn(pair, nowMs), expected, String(nowMs));
  }
});

test("a certificate of six days or one is told in the last third of its life", { skip: noOpenssl }, async (context) => {
  for (const days of [1, 6]) {
    const pair = await readPair(keepPair(temporaryFolder(context), makePair(context, { days })));
    const endMs = Date.parse(pair.leaf.validTo);
    const thirdMs = (days * 86_400_000) / 3;
    for (const [nowMs, count] of [[endMs - thirdMs - 1, 0], [endMs - thirdMs, 1], [endMs, 1]] as const) {
      assert.equal(remarksOn(pair, nowMs).length, count, `${days} days, ${endMs - nowMs} ms before its end`);
    }
  }
});

test("a certificate that may lack its chain gets a note, and no other does", { skip: noOpenssl }, async (context) => {
  const folder = temporaryFolder(context);
  const authority = makePair(context, { name: "/CN=Authority" });
  const leaf = makePair(context, { issuer: authority });
  // It has the name of a root that Node knows, and the type of its key.
  const root = makePair(context, { type: "RSA", name: "/C=US/O=Internet Security Research Group/CN=ISRG Root X1" });
  const table: readonly (readonly [name: string, pair: Pair, notes: number])[] = [
    ["alone", leaf, 1],
    ["with its issuer", { ...leaf, cert: `${leaf.cert}${authority.cert}` }, 0],
    ["self-signed", two, 0],
    ["issued by a root", makePair(context, { issuer: root }), 0],
  ];
  for (const [name, pair, notes] of table) {
    const remarks = remarksOn(await readPair(keepPair(folder, pair)), Date.now());
    assert.deepEqual(remarks.map(([, level]) => level), Array(notes).fill("info"), name);
    assert.ok(remarks.every(([message]) => message.includes("(CN=Authority)")), name);
  }
});
