/**
 * The console as public pages: whatever the build has put into its folder, read once at the start. The files are part
 * of the program, as its modules are, so they are read without disk.ts, and synchronously: a start has no clients that
 * wait, and reading them asynchronously took 3 % of it.
 *
 * Only the program serves it. The library never loads this file: the page at "/" of an embedding program is its own.
 */

import { readdirSync, readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { fixedPage, type PublicPage } from "../http/public-page.ts";

/** Forbids style sheets and scripts of other origins, inline code, frames, plug-ins, and markup made from text. */
const securityFields = [
  "Content-Security-Policy",
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "Referrer-Policy",
  "no-referrer",
  "Cross-Origin-Opener-Policy",
  "same-origin",
];

/** Media types by the extension of a file's name. */
const mediaTypes: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".css": "text/css",
  ".js": "text/javascript",
};

const document = "index.html";
const builtFolder = fileURLToPath(new URL("../console/", import.meta.url));

/** The document at "/", and all other files below "/console/". @throws {Error} the build is incomplete */
export function consolePages(folder: string = builtFolder): readonly PublicPage[] {
  const others = readdirSync(folder).filter((name) => name !== document);
  return [document, ...others].map((name) => fixedPage({
    path: name === document ? "/" : `/console/${name}`,
    contentType: `${mediaTypes[extname(name)]}; charset=utf-8`,
    content: readFileSync(join(folder, name)),
    fields: securityFields,
  }));
}
