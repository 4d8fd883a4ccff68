/**
 * The console as public pages: a document, a style sheet and scripts, read once at the start.
 *
 * Only the program serves it. The library never loads this file: the page at "/" of an embedding program is its own.
 */

import { fileURLToPath } from "node:url";

import { page } from "../console-files/page.ts";
import { style } from "../console-files/style.ts";
import type { Disk } from "../disk/disk.ts";
import { readWholeFile } from "../disk/replace-file.ts";
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
 * @throws {Error} a script is missing: the build is incomplete
 */
export async function consolePages(disk: Disk, folder: string = builtFolder): Promise<readonly PublicPage[]> {
  const scriptPages = scripts.map(async (name) => {
    return consolePage(`console/${name}.js`, "text/javascript", await readText(disk, `${folder}${name}.js`));
  });
  return [
    consolePage("", "text/html", page),
    consolePage("console/style.css", "text/css", style),
    ...(await Promise.all(scriptPages)),
  ];
}

function consolePage(path: string, mediaType: string, text: string): PublicPage {
  return fixedPage({
    path: `/${path}`,
    contentType: `${mediaType}; charset=utf-8`,
    // Without indentation and most line ends, an eighth of all bytes. No string in these files spans two lines.
    content: text.replace(/(?<=[,;{}>([])\n|^ +/gm, ""),
    fields: securityFields,
  });
}

async function readText(disk: Disk, path: string): Promise<string> {
  const bytes = await readWholeFile(disk, path);
  if (bytes === undefined) {
    throw new Error(`Cannot serve the console: ${path} is missing; build it with npm run build, or use --console off`);
  }
  return bytes.toString();
}
