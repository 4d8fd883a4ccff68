/**
 * The console as public pages: a document, a style sheet and scripts, read once at the start. They are part of the
 * program, as its modules are, so they are read without the seam of the disk, and synchronously: a start has no clients
 * that wait, and reading them asynchronously took 3 % of it.
 *
 * Only the program serves it. The library never loads this file: the page at "/" of an embedding program is its own.
 */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { page } from "../console-files/page.ts";
import { style } from "../console-files/style.ts";
import { messageOf } from "../base/error-message.ts";
import { fixedPage, type PublicPage } from "../http/public-page.ts";

/** Modules of the folder `console`, as built. */
const scripts = [
  "add-view",
  "advice",
  "api-address",
  "catalogue-view",
  "curl",
  "dom",
  "exact-json",
  "key-view",
  "main",
  "markdown",
  "quota",
  "quota-view",
  "reference",
  "reference-view",
  "requests-view",
  "session",
  "visible",
];

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

const builtFolder = fileURLToPath(new URL("../console/", import.meta.url));

/**
 * @param folder of the built scripts, with a slash at its end
 * @throws {Error} a script cannot be read, because the build is incomplete
 */
export function consolePages(folder: string = builtFolder): readonly PublicPage[] {
  return [
    consolePage("", "text/html", page),
    consolePage("console/style.css", "text/css", style),
    ...scripts.map((name) => consolePage(`console/${name}.js`, "text/javascript", readText(`${folder}${name}.js`))),
  ];
}

function consolePage(path: string, mediaType: string, text: string): PublicPage {
  return fixedPage({
    path: `/${path}`,
    contentType: `${mediaType}; charset=utf-8`,
    // Leaves out indentation and most line ends, an eighth of all bytes. No string in these files spans two lines.
    content: text.replace(/(?<=[,;{}>([])\n|^ +/gm, ""),
    fields: securityFields,
  });
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const advice = "build it with npm run build, or use --console off";
    throw new Error(`Cannot serve the console: ${messageOf(error)}; ${advice}`, { cause: error });
  }
}
