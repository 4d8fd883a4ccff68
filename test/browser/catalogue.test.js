/** The list of the catalogue: its pages, when it was read, what a reload keeps; and finding an animal by its name. */

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

/** So many animals, of which those at the numbers have these names. */
function herd(count, names) {
  return Array.from({ length: count }, (_, index) => ({ name: names[index + 1] ?? "Rex", categoryId: 1 }));
}

const found = (page) => page.locator("#pets td:first-child").allInnerTexts();

async function find(page, text) {
  await page.locator("#wanted").fill(text);
  await page.locator("#wanted").press("Enter");
  await page.locator("body[aria-busy=false]").waitFor();
}

test("a text finds all animals whose name has it, case and accents aside, whatever the filter", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program);
  await program.importPets(herd(250, { 3: "Señor Bigotes", 100: "Sen or", 101: "SENORA", 250: "el sen\u0303or" }));
  await enterKey(page, program.firstKey);
  await page.locator("#list-status").selectOption("sold");
  await range(page, "No animal is sold.");
  const before = requests.length;
  await find(page, " señOR ");
  assert.deepEqual(await found(page), ["3", "101", "250"]);
  assert.equal(await page.locator("#range").innerText(), "3 found in animals 1 to 250 (end)");
  assert.equal(await page.locator("#list-status").inputValue(), "");
  assert.deepEqual(requests.slice(before), ["GET /v1/limits", ...Array(3).fill("GET /v1/pets")]);
  assert.equal(await page.evaluate(() => document.activeElement.cells[0].innerText), "3", "its buttons are one Tab away");
  await page.getByRole("button", { name: "Sell animal 101" }).click();
  await page.locator("#notice", { hasText: "Animal 101 is sold: SENORA" }).waitFor();
  await press(page, "Refresh");
  await range(page, "3 found in animals 1 to 250 (end)");
  assert.deepEqual(await page.locator("#pets .badge").allInnerTexts(), ["available", "sold", "available"]);
  await press(page, "Back");
  await range(page, "Animal 101 (sold) (end)");
  await find(page, "Misty");
  assert.equal(await page.locator("#range").innerText(), "None found in animals 1 to 250 (end)");
});

test("a press looks at 2,000 animals at most, says how far it looked, and the next one goes on from there", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program, { allowed: ["net::ERR_"] });
  await program.importPets(herd(2_150, { 7: "Ada", 2_007: "Ada", 2_110: "Ada" }));
  await enterKey(page, program.firstKey);
  const before = requests.length;
  await find(page, "ada");
  assert.deepEqual(await found(page), ["7"]);
  assert.equal(await page.locator("#notice").innerText(), "1 found in animals 1 to 2000. Press Find to go on.");
  assert.equal(requests.length, before + 21);
  await press(page, "Sell animal 7");
  await page.locator("#notice", { hasText: "Animal 7 is sold" }).waitFor();
  await page.route("**/v1/pets?*after=2100*", (route) => route.abort(), { times: 1 });
  await press(page, "Find");
  await page.locator("#notice", { hasText: "No answer" }).waitFor();
  await range(page, "2 found in animals 1 to 2100");
  await press(page, "Find");
  await range(page, "3 found in animals 1 to 2150 (end)");
  assert.deepEqual(await found(page), ["7", "2007", "2110"]);
  assert.deepEqual(await page.locator("#pets .badge").allInnerTexts(), ["sold", "available", "available"], "as changed meanwhile");
  assert.equal(requests.length, before + 21 + 1 + 3 + 2);
});

for (const [name, quota, presses] of [
  ["ten requests of its minute", ["--per-minute", "16", "--per-day", "1000"], [300, 400]], // The key's entry takes two, a press one more.
  ["a tenth of its day", ["--per-minute", "90", "--per-day", "20"], [1_500, 1_600]],
]) {
  test(`a press leaves ${name}, but for the page that it asked for`, { skip }, async (context) => {
    const program = await startProgram(context);
    await program.importPets(herd(2_500, {}));
    await program.changeKey("plan", "--plan", "enterprise", ...quota);
    const { page } = await openConsole(context, program);
    await enterKey(page, program.firstKey);
    for (const last of presses) {
      await find(page, "ada");
      await range(page, `None found in animals 1 to ${last}`);
    }
  });
}
