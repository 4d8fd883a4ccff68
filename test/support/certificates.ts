/** Certificates for nothing but tests: two that are here, and others that `openssl` makes. */

import { spawnSync } from "node:child_process";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";

import { temporaryFolder } from "./temporary-folder.ts";

export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** Writes the pair as a renewal does: each file is replaced as a whole. @returns their paths */
export function keepPair(folder: string, { cert, key }: Pair): Pair {
  const paths = { cert: join(folder, "cert.pem"), key: join(folder, "key.pem") };
  for (const [path, text] of [[paths.cert, cert], [paths.key, key]] as const) {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  }
  return paths;
}

/** The reason to skip a test. */
export const noOpenssl: string | false = spawnSync("openssl", ["version"]).error === undefined ? false : "needs openssl";

export function openssl(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("openssl", args, { encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`openssl ${args.join(" ")}: ${stderr}`);
  }
  return stdout;
}

/** Options of `openssl genpkey`. */
export const keyTypes = {
  RSA: ["-algorithm", "RSA"],
  EC: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
  Ed25519: ["-algorithm", "ed25519"],
} as const;

interface Making {
  readonly type?: keyof typeof keyTypes;
  readonly days?: number;
  readonly name?: string;
  /** The pair that signs the certificate; if omitted, it is self-signed. */
  readonly issuer?: Pair;
}

export function makePair(context: TestContext, { type = "EC", days = 100, name = "/CN=localhost", issuer }: Making = {}): Pair {
  const folder = temporaryFolder(context);
  const [key, request] = [join(folder, "own.pem"), join(folder, "request.pem")];
  openssl("genpkey", ...keyTypes[type], "-out", key);
  openssl("req", "-new", "-key", key, "-subj", name, "-out", request);
  const paths = issuer && keepPair(folder, issuer);
  const signer = paths === undefined ? ["-signkey", key] : ["-CA", paths.cert, "-CAkey", paths.key, "-CAcreateserial"];
  const cert = openssl("x509", "-req", "-in", request, "-days", String(days), ...signer);
  return { cert, key: readFileSync(key, "utf8") };
}

/** Two self-signed pairs for localhost and 127.0.0.1, valid for a century. */

export const one: Pair = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUC1xCY6mRj71xPNYUx0Nlp/hvLSAwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTE4MDg1NVoYDzIxMjYxMTAx
MTgwODU1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARNx9/oBkH5E9ecEiaak0pAENv1lJ5tsmM/fgdHZlMNwA6j45NAphw8
QxCj3mNEL86GksrAfBAOFpgEZsic9JHto28wbTAdBgNVHQ4EFgQUyaf0QjtpA8af
q7PhOuoT9w7dQBMwHwYDVR0jBBgwFoAUyaf0QjtpA8afq7PhOuoT9w7dQBMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAPJt2oe032Mymgc3cVrO/RmTXPfX/5oAsOtcpkSF9AJNAiEA
g3xBFF0H89D22KVaYXRKKOvOmuJDrD6sTTYwD4AI8+I=
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg4XwgPBYvJ0Dg6iVj
0m0rdF4MT10bFd7Kpi38yi5I7B+hRANCAARNx9/oBkH5E9ecEiaak0pAENv1lJ5t
smM/fgdHZlMNwA6j45NAphw8QxCj3mNEL86GksrAfBAOFpgEZsic9JHt
-----END PRIVATE KEY-----
`,
};

export const two: Pair = {
  cert: `-----BEGIN CERTIFICATE-----
MIIBmzCCAUGgAwIBAgIUdxTtea+1M495pGv6YB6ExiBRFSgwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNTE4MDg1NVoYDzIxMjYxMTAx
MTgwODU1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAARX/Yv0UQMXwzTdMJfGFTaKr7CFx7/qbi1bm2bCed2E6sF1IoaNAiya
onW/gYomzXVwAKUJHUcShNy9qW1AFRT1o28wbTAdBgNVHQ4EFgQULtES6W8VhdQ0
/Lihse8BQDjPnfwwHwYDVR0jBBgwFoAULtES6W8VhdQ0/Lihse8BQDjPnfwwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSAAwRQIhAPrqPPxg43rACnY5GMeXqQO8d5E6mMEmrWESf3vAHo78AiAo
F9JybOMuJaGbV4onUd5ibbxuS18qIGMYJp1i4u0e6w==
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgpwYn8U4yG8SBERQp
V67vq8RduW2OpcyYQ/1/K7RgsvqhRANCAARX/Yv0UQMXwzTdMJfGFTaKr7CFx7/q
bi1bm2bCed2E6sF1IoaNAiyaonW/gYomzXVwAKUJHUcShNy9qW1AFRT1
-----END PRIVATE KEY-----
`,
};
