/** The certificate of HTTPS and its key, which are read again when a renewal has changed their files. */

import { readFileSync } from "node:fs";
import { clearInterval, setInterval } from "node:timers";
import { createSecureContext, type Server } from "node:tls";

import { messageOf } from "../base/error-message.ts";
import type { Report } from "../base/report.ts";
import { explain } from "../disk/file-errors.ts";
import { UsageError } from "./parse-flags.ts";
import type { Settings, SettingsRead } from "./settings.ts";

/** Where both are, as PEM files. */
type CertificatePaths = NonNullable<Settings["tls"]>;

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export interface Renewal {
  /** Reads the files now. */
  readonly check: () => void;
  readonly stop: () => void;
}

/** Without a watch on the files: a renewal often replaces links, or folders above them. */
const checkMs = 20_000;

/** @throws {UsageError} the pair that the settings name cannot be used */
export function readPair({ settings: { tls }, cite }: SettingsRead): Certificate | undefined {
  try {
    return tls && readCertificate(tls);
  } catch (error) {
    throw new UsageError(`Cannot use ${cite("tls-cert")} with ${cite("tls-key")}: ${messageOf(error)}`);
  }
}

/** @throws {Error} a file cannot be read, or the key is not the certificate's */
export function readCertificate({ cert, key }: CertificatePaths): Certificate {
  const read = { cert: readPem(cert), key: readPem(key) };
  createSecureContext(read);
  return read;
}

function readPem(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw explain(error, path);
  }
}

/**
 * From now on new connections get the pair that is in the files. A pair that cannot be used is told once, and the one
 * before it serves on. Connections keep the pair that they began with.
 * @param used the pair that the server has
 */
export function renewCertificate(
  server: Server,
  paths: CertificatePaths,
  used: Certificate,
  report: Report,
): Renewal {
  let fault: string | undefined;
  const check = (): void => {
    try {
      const read = readCertificate(paths);
      if (!read.cert.equals(used.cert) || !read.key.equals(used.key)) {
        server.setSecureContext(read);
        used = read;
        report("the certificate was read again");
      }
      fault = undefined;
    } catch (error) {
      const message = messageOf(error);
      if (message !== fault) {
        fault = message;
        const effect = "cannot be used, and the one before serves on";
        report(`the certificate in ${paths.cert} and ${paths.key} ${effect}: ${message}`, "warning");
      }
    }
  };
  const timer = setInterval(check, checkMs);
  return { check, stop: () => clearInterval(timer) };
}
