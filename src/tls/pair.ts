/** Reads and checks a certificate and its key, two PEM files, and says what an operator should know of them. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { createSecureContext, rootCertificates, type SecureContextOptions } from "node:tls";

import { messageOf } from "../base/error-message.ts";
import { pluralize } from "../base/pluralize.ts";
import type { Level } from "../base/report.ts";
import { withPath } from "../disk/file-errors.ts";
import { openAtOnce } from "../disk/node-disk.ts";

export interface PairPaths {
  readonly cert: string;
  readonly key: string;
}

export interface Pair {
  readonly paths: PairPaths;
  readonly cert: Buffer;
  readonly key: Buffer;
  /** What a server is given. */
  readonly context: SecureContextOptions;
  /** The certificate that the server is known by. Those behind it in the file lead to a root. */
  readonly leaf: X509Certificate;
}

/** All TLS options of a server. A renewal must pass all of them: a server forgets those that it is not given again. */
export function contextOf({ cert, key }: { readonly [name in "cert" | "key"]: Buffer | string }): SecureContextOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}

/** @throws {Error} a file cannot be read or used, or the key is not the certificate's: names the file and the reason */
export async function readPair(paths: PairPaths): Promise<Pair> {
  const [cert, key] = [await readPem(paths.cert, "CERTIFICATE"), await readPem(paths.key, "PRIVATE KEY")];
  const leaf = using(paths.cert, () => new X509Certificate(cert));
  // A context compares a key only with a certificate of the same type, and takes a pair of two types.
  if (!using(paths.key, () => leaf.checkPrivateKey(createPrivateKey(key)))) {
    throw new Error(`${paths.key} is not the key of the first certificate in ${paths.cert}`);
  }
  const context = contextOf({ cert, key });
  using(paths.cert, () => createSecureContext(context));
  return { paths, cert, key, context, leaf };
}

/** @param label of a PEM block that the file must contain */
async function readPem(path: string, label: string): Promise<Buffer> {
  const bytes = await withPath(path, readByHandle(path));
  const text = bytes.toString("latin1");
  const labels = Array.from(text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g), ([, found = ""]) => found);
  const own = labels.filter((found) => found.endsWith(label));
  if (labels.length === 0) {
    throw new Error(`${path} is ${bytes.length === 0 ? "empty" : "not PEM"}`);
  }
  if (own.length === 0) {
    throw new Error(`${path} has no ${label.toLowerCase()}, but a ${labels.join(" and a ").toLowerCase()}`);
  }
  if ((text.match(/-----END [A-Z0-9 ]+-----/g)?.length ?? 0) < labels.length) {
    throw new Error(`${path} is not whole: a part of it has no END line`);
  }
  if (own.includes("ENCRYPTED PRIVATE KEY") || /^Proc-Type: 4,ENCRYPTED/m.test(text)) {
    throw new Error(`${path} is encrypted: write the key without its passphrase`);
  }
  return bytes;
}

/** Node 26 reads a file by its path in one job, which is not among the file calls that the end of the process finds. */
async function readByHandle(path: string): Promise<Buffer> {
  const { handle } = await openAtOnce(path);
  return handle.readFile().finally(() => handle.close());
}

function using<Value>(path: string, use: () => Value): Value {
  try {
    return use();
  } catch (error) {
    throw new Error(`${path} cannot be used: ${messageOf(error)}`, { cause: error });
  }
}

const dayMs = 86_400_000;
const endsSoonDays = 14;

/** From when on its end is told. Certificates of six days or one are usual, and would otherwise be told of for ever. */
export function endToldFromMs({ validFrom, validTo }: X509Certificate): number {
  const [beginMs, endMs] = [Date.parse(validFrom), Date.parse(validTo)];
  return endMs - Math.min(endsSoonDays * dayMs, (endMs - beginMs) / 3);
}

export type Remark = readonly [message: string, level: Level];

/** What an operator should know of a pair that can be used: why clients refuse it, will soon, or may. */
export function remarksOn(pair: Pair, nowMs: number): readonly Remark[] {
  const [time, chain, path] = [timeRemark(pair.leaf, nowMs), chainRemark(pair), pair.paths.cert];
  const remarks: Remark[] = time === undefined ? [] : [[`the certificate in ${path} ${time}`, "warning"]];
  return chain === undefined ? remarks : [...remarks, [`${path} has one certificate, ${chain}`, "info"]];
}

function timeRemark(leaf: X509Certificate, nowMs: number): string | undefined {
  const [beginMs, endMs] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  const at = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  if (nowMs < beginMs) {
    return `is not valid before ${at(beginMs)}`;
  }
  if (nowMs >= endMs) {
    return `is expired since ${at(endMs)}`;
  }
  const days = pluralize(Math.floor((endMs - nowMs) / dayMs), "day");
  return nowMs < endToldFromMs(leaf) ? undefined : `expires in ${days}, at ${at(endMs)}`;
}

/** Browsers fetch a missing certificate of the chain by themselves, so its absence is noticed late. */
function chainRemark({ cert, leaf }: Pair): string | undefined {
  const count = cert.toString("latin1").match(/-----BEGIN [A-Z0-9 ]*CERTIFICATE-----/g)?.length;
  const isIssuedBy = (root: string): boolean => leaf.checkIssued(new X509Certificate(root));
  if (count !== 1 || leaf.issuer === leaf.subject || rootCertificates.some(isIssuedBy)) {
    return undefined;
  }
  return `whose issuer (${leaf.issuer.replaceAll("\n", ", ")}) is no usual root: the chain may be missing`;
}
