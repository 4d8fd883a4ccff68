/** A file that never opens, as on a disk that hangs. */

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";

export interface HangingOpen {
  /** For the program: what Node loads before it. */
  readonly env: { readonly NODE_OPTIONS: string };
  /** From now on the program cannot open the file. It prints "it hangs" when it tries to. */
  readonly begin: () => void;
}

/** Files are made beside the file. */
export function hangingOpen(file: string): HangingOpen {
  const [preload, pipe, begun] = [`${file}.preload.cjs`, `${file}.pipe`, `${file}.begun`];
  spawnSync("mkfifo", [pipe]);
  writeFileSync(preload, `
    const { existsSync, promises } = require("node:fs");
    const { open } = promises;
    promises.open = (path, ...rest) => {
      if (path !== ${JSON.stringify(file)} || !existsSync(${JSON.stringify(begun)})) {
        return open(path, ...rest);
      }
      console.log("it hangs");
      return open(${JSON.stringify(pipe)}, "r"); // Until somebody writes to it.
    };
    require("node:module").syncBuiltinESMExports();
  `);
  return { env: { NODE_OPTIONS: `--require ${preload}` }, begin: () => writeFileSync(begun, "") };
}
