/** The list of the catalogue: its pages, when it was read, what a reload keeps. */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { changeStatus, closeBrowser, enterKey, openConsole, openWithKey, skip, startProgram } from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const range = (page, text) => page.locator("#range", { hasText: text }).waitFor();

for (const viewport of [{ width: 360, height: 740 }, { width: 1280, height: 900 }]) {
  test(`Next and Back show the beginning of their page, ${viewport.width} pixels wide`, { skip }, async (context) => {
    const { page } = await openWithKey(context, { viewport });
    await page.route("**/v1/pets?*", (route) => {
      const after = Number(new URL(route.request().url()).searchParams.get("after"));
      const json = Array.from({ length: 50 }, (_, index) => ({ id: after + index + 1, name: "Rex", categoryId: 1, status: "available" }));
      return route.fulfill({ json, headers: { Link: `</v1/pets?after=${after + 50}>; rel="next"` } });
    });
    await press(page, "List animals");
    for (const [name, from] of [["Next", 51], ["Next", 101], ["Back", 51]]) {
      await page.locator("#pets tr").last().scrollIntoViewIfNeeded();
      await press(page, name);
      await range(page, `Animals ${from} to ${from + 49}`);
      const isInView = await page.locator("#pets tr").first().evaluate((row) => {
        const { left, top, bottom } = row.getBoundingClientRect();
        return row.contains(document.elementFromPoint(left + 5, (top + bottom) / 2));
      });
      assert.ok(isInView, `${name}: row ${from}`);
    }
  });
}

test("Refresh lists the page again that is shown, with what other tills have done, and says as of when", { skip }, async (context) => {
  const program = await startProgram(context, { pets });
  const { page, requests } = await openConsole(context, program, { clock: new Date(2026, 10, 27, 10, 42), locale: "en-GB" });
  await page.getByLabel("Page size").fill("2");
  await enterKey(page, program.firstKey);
  await press(page, "Next");
  await range(page, "Animal 3 (end)");
  assert.equal(await page.locator("#shown").innerText(), "Animal 3 (end) as of 10:42");
  await changeStatus(program, 3, "sold");
  await page.clock.runFor(60_000);
  const before = requests.length;
  await press(page, "Refresh");
  await page.locator("#shown", { hasText: "Animal 3 (end) as of 10:43" }).waitFor();
  assert.deepEqual(await page.locator("#pets .badge").allInnerTexts(), ["sold"]);
  assert.deepEqual(requests.slice(before), ["GET /v1/limits", "GET /v1/pets"]);
});

test("page size and filter survive a reload where the key does, and only there", { skip }, async (context) => {
  const program = await startProgram(context, { pets });
  const { page } = await openConsole(context, program);
  const choose = async () => {
    await enterKey(page, program.firstKey);
    await page.getByLabel("Page size").fill("2");
    await page.locator("#list-status").selectOption("available");
    await range(page, "Animals 1 to 2 (available)");
  };
  const values = () => Promise.all(["#limit", "#list-status"].map((field) => page.locator(field).inputValue()));
  await choose();
  await page.reload();
  await page.waitForFunction(() => document.getElementById("limit").value === "20");
  assert.deepEqual(await values(), ["20", ""]);
  await page.getByLabel("Keep it in this tab").check();
  await choose();
  await page.reload();
  await range(page, "Animals 1 to 2 (available)");
  assert.deepEqual(await values(), ["2", "available"]);
  await press(page, "Forget");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
});
