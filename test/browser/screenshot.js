/**
 * Makes console.png, the README's picture of the page: `npm run screenshot`, after `npm run build` of the project.
 * pngquant (Debian: pngquant) reduces it to the few colours that it has.
 */

import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { add, closeBrowser, here, notice, openWithKey, press } from "./console.js";

const pets = [
  { name: "Rex", categoryId: 1, status: "available" },
  { name: "Misty", categoryId: 2, status: "pending" },
  { name: "Otto", categoryId: 1, status: "sold" },
  { name: "Señor Bigotes", categoryId: 2, status: "available" },
  { name: "Coco", categoryId: 3, status: "available" },
];

const cleanups = [];
const context = { after: (cleanup) => cleanups.unshift(cleanup) };
try {
  const { page } = await openWithKey(context, { pets, viewport: { width: 1280, height: 560 }, colorScheme: "light" });
  await add(page, "Luna", "2");
  await notice(page, "is added");
  await press(page, "Reserve animal 4");
  await notice(page, "is reserved");
  await page.mouse.move(0, 0);
  const path = join(here, "console.png");
  await page.screenshot({ path });
  execFileSync("pngquant", ["--force", "--nofs", "--strip", "--ext", ".png", "16", path]);
} finally {
  for (const cleanup of cleanups) {
    await cleanup();
  }
  await closeBrowser();
}
