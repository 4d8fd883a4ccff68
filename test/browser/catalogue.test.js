/**
 * The list of the catalogue: its pages, its filters, when it was read, what a reload keeps; and finding an animal by its
 * number or a part of its name.
 */

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  add, changeStatus, choose, closeBrowser, enterKey, find, idle, notice, openConsole, openWithKey, press, pressInMenu, rows, skip, startProgram, statuses,
} from "./console.js";

after(closeBrowser);

const pets = ["Rex", "Misty", "Otto"].map((name) => ({ name, categoryId: 1 }));
const range = (page, text) => page.locator("#range", { hasText: text }).waitFor();
const ids = async (page) => (await rows(page)).map(([id]) => id);
const marked = (page) => page.locator(".marked strong").allInnerTexts();

for (const viewport of [{ width: 360, height: 740 }, { width: 1280, height: 900 }]) {
  test(`Next and Back show the beginning of their page, ${viewport.width} pixels wide`, { skip }, async (context) => {
    const program = await startProgram(context);
    const { page, requests } = await openConsole(context, program, { viewport });
    await program.importPets(herd(50, {}));
    await enterKey(page, program.firstKey);
    const before = requests.length;
    for (const [name, shown] of [["Next", "21–40"], ["Next", "41–50"], ["Back", "21–40"]]) {
      await press(page, name);
      await range(page, shown);
      await idle(page);
      const isInView = await page.locator("#pets li").first().evaluate((row) => {
        const { left, top, bottom } = row.getBoundingClientRect();
        return row.contains(document.elementFromPoint(left + 9, (top + bottom) / 2));
      });
      assert.ok(isInView, `${name}: ${shown}`);
    }
    await press(page, "Next");
    await range(page, "41–50");
    assert.equal(await page.locator("#next").getAttribute("aria-disabled"), "true");
    await page.locator("#next").click({ force: true });
    assert.equal(requests.length, before + 4);
  });
}

test("Refresh lists the page again that is shown, with what other tills have done, and says as of when", { skip }, async (context) => {
  const program = await startProgram(context, { pets });
  const { page, requests } = await openConsole(context, program, { clock: new Date(2026, 10, 27, 10, 42), locale: "en-GB" });
  await enterKey(page, program.firstKey);
  assert.equal(await page.locator("#range").innerText(), "1–3 as of 10:42");
  await changeStatus(program, 3, "sold");
  await page.clock.runFor(60_000);
  const before = requests.length;
  await press(page, "Refresh");
  await range(page, "1–3 as of 10:43");
  assert.deepEqual(await statuses(page), ["available", "available", "sold"]);
  assert.deepEqual(requests.slice(before), ["GET /v1/pets"]);
});

test("a status is listed when it is chosen: at once by mouse, by keyboard at Enter or on leaving the group", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  const lists = () => requests.filter((line) => line === "GET /v1/pets").length;
  const group = page.getByRole("group", { name: "Status" });
  await choose(page, "Pending");
  await range(page, "No pending animals.");
  assert.equal(lists(), 2);
  await group.getByRole("radio", { name: "Pending" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.ok(await group.getByRole("radio", { name: "All" }).isChecked());
  assert.equal(lists(), 2, "no arrow lists");
  await page.keyboard.press("Enter");
  await range(page, "1–3");
  assert.equal(lists(), 3);
  await page.keyboard.press("ArrowLeft");
  await page.locator("#wanted").focus();
  await range(page, "No sold animals.");
  await idle(page);
  await group.getByRole("radio", { name: "Sold" }).focus();
  await page.locator("#wanted").focus();
  assert.equal(lists(), 4, "what is listed is not listed again");
});

test("a category is listed at Enter or on leaving its field, to its last digit, together with the status", { skip }, async (context) => {
  const large = "9223372036854775807";
  const big = (name, status) => `{"name":"${name}","categoryId":${large},"status":"${status}"}`;
  const { page, requests } = await openWithKey(context, { pets: [...pets, big("Ada", "sold"), big("Bo", "pending")] });
  const field = page.locator("#category-filter");
  const queries = [];
  page.on("request", (request) => queries.push(new URL(request.url()).search));
  await field.fill(` +${large} `);
  await field.press("Enter");
  await range(page, "4–5");
  assert.deepEqual(await rows(page), [["4", "Ada", large], ["5", "Bo", large]]);
  assert.equal(await field.inputValue(), large);
  await choose(page, "Sold");
  await idle(page);
  assert.deepEqual(await ids(page), ["4"]);
  await field.fill("2");
  await page.locator("#wanted").focus();
  await range(page, "No sold animals in category 2.");
  await press(page, "Show all animals");
  await range(page, "1–5");
  assert.equal(await field.inputValue(), "");
  assert.deepEqual(queries, [`&categoryId=${large}`, `&status=sold&categoryId=${large}`, "&status=sold&categoryId=2", ""].map((one) => `?limit=20${one}`));
  const before = requests.length;
  for (const wrong of ["x", "7.5", "9223372036854775808"]) {
    await field.fill(wrong);
    await field.press("Enter");
    await notice(page, "The category is a whole number");
    assert.equal(await field.getAttribute("aria-invalid"), "true");
  }
  assert.equal(requests.length, before);
});

test("what is typed as category is no request where the window loses the focus, nor where another button is pressed, which counts", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  const field = page.locator("#category-filter");
  const before = requests.length;
  await field.fill("7");
  await field.evaluate((node) => node.dispatchEvent(new FocusEvent("focusout", { bubbles: true }))); // It still has the focus.
  assert.equal(await field.inputValue(), "7");
  await press(page, "Sell animal 1");
  await notice(page, "Animal 1 is sold");
  assert.equal(await field.inputValue(), "", "nothing is filtered");
  await field.fill("7");
  await press(page, "New animal");
  await press(page, "Cancel");
  assert.deepEqual([await field.inputValue(), requests.slice(before)], ["", ["PATCH /v1/pets/1"]]);
  await field.fill("7");
  await press(page, "Refresh");
  await range(page, "No animals in category 7.");
  await field.fill("1");
  await press(page, "Find");
  await range(page, "1–3");
  assert.equal(requests.length, before + 3);
});

test("the fields go back to what is listed where a choice comes during a request or a wait, or is not answered", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets, allowed: ["status of 429", "net::ERR_"] });
  const isRefused = async (text) => {
    await choose(page, "Sold");
    await notice(page, text);
    assert.ok(await page.getByRole("radio", { name: "All" }).isChecked());
  };
  let respond;
  await page.route("**/v1/pets?*", (route) => (respond = () => route.continue()), { times: 1 });
  await Promise.all([page.waitForRequest("**/v1/pets?*"), press(page, "Refresh")]);
  await isRefused("Not sent: a request is under way.");
  await respond();
  await idle(page);
  await page.route("**/v1/pets?*", (route) => route.abort(), { times: 1 });
  await isRefused("No answer");
  await page.route("**/v1/pets?*", (route) => route.fulfill({
    status: 429,
    headers: { "Retry-After": "40", "X-RateLimit-Limit": "60", "X-RateLimit-Reset": "1" },
    json: { code: "rate_limited", message: "", status: 429 },
  }));
  await press(page, "Refresh");
  await notice(page, "are used up");
  await isRefused("Not sent: wait until");
});

test("the filter survives a reload where the key does, and only there", { skip }, async (context) => {
  const program = await startProgram(context, { pets });
  const { page } = await openConsole(context, program);
  const select = async () => {
    await enterKey(page, program.firstKey);
    await page.locator("#category-filter").fill("1");
    await choose(page, "Available");
    await idle(page);
  };
  await select();
  await page.reload();
  await page.getByLabel("Keep it in this tab").check();
  await select();
  await page.reload();
  await range(page, "1–3");
  assert.equal(await page.locator("#category-filter").inputValue(), "1");
  assert.ok(await page.getByRole("radio", { name: "Available" }).isChecked());
  await press(page, "Forget");
  assert.equal(await page.evaluate(() => Object.values(sessionStorage).join("")), "");
});

test("an added animal is shown on the last page, marked, and the list never leaves out another till's", { skip }, async (context) => {
  const { program, page, requests } = await openWithKey(context);
  const before = requests.length;
  for (const [index, name] of ["Rex", "Misty"].entries()) {
    await add(page, name);
    await notice(page, `Animal ${index + 1} is added: ${name}`);
    assert.deepEqual(await marked(page), [name]);
  }
  assert.equal(requests.length, before + 2, "nothing but the two additions was sent");
  await program.importPets([{ name: "Of another till", categoryId: 1 }]);
  await add(page, "Mine");
  await notice(page, "Animal 4 is added: Mine");
  assert.deepEqual([await ids(page), await marked(page)], [["1", "2", "3", "4"], ["Mine"]]);
  await choose(page, "Available");
  await idle(page);
  await press(page, "Sell animal 2");
  await notice(page, "Animal 2 is sold");
  assert.deepEqual(await page.locator("#pets small").allInnerTexts(), [" no longer in this list"]);
  await add(page, "Under its filter");
  await notice(page, "Animal 5 is added");
  assert.deepEqual(await marked(page), ["Under its filter"]);
  await choose(page, "Sold");
  await idle(page);
  await add(page, "Not sold");
  await notice(page, "Animal 6 is added: Not sold Show it");
  assert.deepEqual(await ids(page), ["2"]);
  await press(page, "Show it");
  await idle(page);
  assert.deepEqual(await ids(page), ["6"]);
});

test("an added animal is shown where it stands also after the last one, or all, were removed", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets });
  for (const [last, left] of [[3, ["1", "2", "4"]], [4, ["1", "2", "5"]]]) {
    await pressInMenu(page, last, "Remove");
    await page.locator("#remove").click();
    await notice(page, "is removed");
    await press(page, "Refresh"); // The page forgets which was the last.
    await idle(page);
    await add(page, "Ada");
    await notice(page, "is added: Ada");
    assert.deepEqual(await ids(page), left);
    assert.deepEqual(await marked(page), ["Ada"]);
  }
});

test("a full last page goes on at the next, where Show it leads", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program);
  await program.importPets(herd(41, {}));
  await enterKey(page, program.firstKey);
  await add(page, "Ada");
  await notice(page, "Animal 42 is added: Ada Show it");
  assert.equal(await page.locator(".marked").count(), 0);
  await press(page, "Show it");
  await idle(page);
  assert.deepEqual(await rows(page), [["42", "Ada", "1"]]);
  await press(page, "Back to the list");
  await range(page, "1–20");
});

/** So many animals, of which those at the numbers have these names. */
function herd(count, names) {
  return Array.from({ length: count }, (_, index) => ({ name: names[index + 1] ?? "Rex", categoryId: 1 }));
}

test("a number finds its animal, whatever the filter, to which the list goes back", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { pets });
  await page.locator("#category-filter").fill("1");
  await choose(page, "Sold");
  await range(page, "No sold animals in category 1.");
  const before = requests.length;
  await find(page, " 2 ");
  assert.deepEqual(await ids(page), ["2"]);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.id), "2", "its buttons are one Tab away");
  assert.ok(await page.getByRole("radio", { name: "All" }).isChecked());
  assert.equal(await page.locator("#category-filter").inputValue(), "");
  for (const typed of ["9", "0", "-1", "9223372036854775808"]) {
    await find(page, typed);
    await range(page, `There is no animal ${typed}.`);
  }
  assert.equal(requests.length, before + 2, "what can be no number of an animal is not asked for");
  await press(page, "Back to the list");
  await range(page, "No sold animals in category 1.");
  assert.equal(await page.locator("#wanted").inputValue(), "");
  await page.locator("#wanted").fill("1");
  await page.locator("#wanted").blur();
  await page.locator("#wanted").focus();
  await page.keyboard.type("3"); // The next scan takes the place of the last.
  await page.keyboard.press("Enter");
  await idle(page);
  assert.deepEqual(await ids(page), ["3"]);
  await choose(page, "Available");
  await range(page, "1–3");
  assert.equal(await page.locator("#wanted").inputValue(), "");
});

test("a text finds all animals of the filter whose name has it, case and accents aside", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program);
  await program.importPets(herd(250, { 3: "Señor Bigotes", 100: "Sen or", 101: "SENORA", 250: "el sen\u0303or" }));
  await enterKey(page, program.firstKey);
  const before = requests.length;
  await find(page, " señOR ");
  assert.deepEqual(await ids(page), ["3", "101", "250"]);
  assert.equal(await page.locator("#range").innerText(), "3 found");
  assert.deepEqual(requests.slice(before), Array(3).fill("GET /v1/pets"));
  assert.equal(await page.evaluate(() => document.activeElement.dataset.id), "3");
  await press(page, "Sell animal 101");
  await notice(page, "Animal 101 is sold: SENORA");
  await press(page, "Refresh");
  await idle(page);
  assert.deepEqual(await statuses(page), ["available", "sold", "available"]);
  await choose(page, "Sold");
  await range(page, "1 found");
  assert.deepEqual(await ids(page), ["101"], "the text stays, under the filter");
  await find(page, "bigotes");
  await range(page, "No name contains “bigotes”. Animals searched: 1.");
  await press(page, "Back to the list");
  await range(page, "101");
  assert.ok(await page.getByRole("radio", { name: "Sold" }).isChecked());
});

test("a press looks at 2,000 animals at most, says how far it looked, and Search on goes on from there", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program, { allowed: ["net::ERR_"] });
  await program.importPets(herd(2_150, { 7: "Ada", 2_007: "Ada", 2_110: "Ada" }));
  await enterKey(page, program.firstKey);
  const before = requests.length;
  await find(page, "ada");
  assert.deepEqual(await ids(page), ["7"]);
  assert.equal(await page.locator("#range").innerText(), "1 found in 2000 animals so far");
  assert.equal(requests.length, before + 20);
  await press(page, "Sell animal 7");
  await notice(page, "Animal 7 is sold");
  await page.route("**/v1/pets?*after=2100*", (route) => route.abort(), { times: 1 });
  await press(page, "Search on");
  await notice(page, "No answer");
  await range(page, "2 found in 2100 animals so far");
  await press(page, "Search on");
  await range(page, /^3 found$/);
  assert.deepEqual(await ids(page), ["7", "2007", "2110"]);
  assert.deepEqual(await statuses(page), ["sold", "available", "available"], "as changed meanwhile");
  assert.equal(requests.length, before + 20 + 1 + 2 + 1);
});

test("a search leaves a fifth of the quota, but for the page that was asked for", { skip }, async (context) => {
  const program = await startProgram(context);
  await program.importPets(herd(2_500, {}));
  await program.changeKey("plan", "--plan", "enterprise", "--per-minute", "10", "--per-day", "1000");
  const { page } = await openConsole(context, program);
  await enterKey(page, program.firstKey); // Takes two.
  await find(page, "ada");
  await range(page, "No name contains “ada”. Animals searched so far: 600.");
  await press(page, "Search on");
  await range(page, "Animals searched so far: 700.");
});
