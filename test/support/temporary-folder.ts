/**
 * Makes a temporary folder for a test.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** Returns the path of a new folder, which is removed after the test. */
export function temporaryFolder(context: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), "animal-store-"));
  context.after(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
