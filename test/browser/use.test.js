/**
 * What a person does with the console, in a real browser, against the program as it is run.
 */

import assert from "node:assert/strict";
import { createServer, request as httpRequest } from "node:http";
import { after, test } from "node:test";
import { add, closeBrowser, enterKey, openConsole, openWithKey, skip, startProgram } from "./console.js";

after(closeBrowser);

const badRequest = "status of 400";
const between = "Something between this page and the service answered.";

test("a newcomer gets from the printed key to the second page of the catalogue", { skip }, async (context) => {
  const program = await startProgram(context);
  const printed = /console: (\S+)$/m.exec(program.output())[1];
  assert.equal(printed, `${program.origin}/`);
  const { page, requests } = await openConsole(context, program);
  assert.deepEqual(requests.filter((line) => line.includes("/v1/")), [], "a page load takes no token");
  await enterKey(page, program.firstKey);
  assert.deepEqual(requests.filter((line) => line.includes("/v1/")), ["GET /v1/limits", "GET /v1/pets"]);
  assert.match(await page.locator("#key-in-use").innerText(), /^as_[0-9A-Za-z]{4}…\s+free plan/);
  assert.equal(await page.locator("#minute-left").innerText(), "58 of 60");
  assert.equal(await page.locator("#day-left").innerText(), "999 of 1,000", "as GET /limits has said it");
  assert.equal(await page.locator("#range").innerText(), "The catalogue is empty. Add its first animal.");
  for (const [index, name] of ["Rex", "Misty", "Otto"].entries()) {
    await add(page, name, String(index));
    await page.getByText(`Animal ${index + 1} is added: ${name}`).waitFor();
  }
  await page.getByLabel("Page size").fill("2");
  await press(page, "List animals", "#range", /^Animals 1 to 2$/);
  await press(page, "Next", "#range", /^Animal 3 \(end\)$/);
  assert.deepEqual(await rows(page), [["3", "Otto new", "2", "available"]]);
  await press(page, "Back", "#range", /^Animals 1 to 2$/);
  assert.deepEqual((await rows(page)).map(([id]) => id), ["1", "2"]);
  await page.getByLabel("Status").first().selectOption("sold");
  await page.locator("#range", { hasText: "No animal is sold" }).waitFor();
  assert.equal(await page.locator("#minute-left").innerText(), "51 of 60");
  assert.equal(await page.locator("#day-left").innerText(), "999 of 1,000", "no response told of it since");
  await press(page, "Refresh", "#day-left", /^990 of 1,000$/);
});

test("at a first visit the key's field has the focus, the page says what it is and who has keys, and the other buttons rest", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program);
  assert.equal(await page.evaluate(() => document.activeElement.id), "key");
  const states = () => page.locator(".sends").evaluateAll((all) => all.map(({ ariaDisabled, title }) => [ariaDisabled, title]));
  for (const state of await states()) {
    assert.deepEqual(state, ["true", "enter a key first"]);
  }
  const [forAll, forCustomers, forOperators] = await page.locator("#access p").all();
  assert.match(await forAll.innerText(), /^The website, the app and the till of a shop share one catalogue of animals: [^.]+\.$/);
  assert.match(await forCustomers.innerText(), /^You need a key from whoever runs this service\./);
  assert.match(await forOperators.innerText(), /keys create/);
  const sizes = [forCustomers, forOperators].map((text) => text.evaluate((node) => parseFloat(getComputedStyle(node).fontSize)));
  const [large, small] = await Promise.all(sizes);
  assert.ok(small < large);
  await enterKey(page, program.firstKey);
  for (const id of ["refresh", "list", "add"]) {
    assert.equal(await page.locator(`#${id}`).getAttribute("aria-disabled"), "false", id);
  }
});

test("a press clears what the last one said", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { pets: ["Rex", "Misty"].map((name) => ({ name, categoryId: 1 })), allowed: [badRequest] });
  for (const [act, text] of [
    [() => add(page, "Luna", "x"), "whole number"],
    [() => page.getByRole("button", { name: "Sell animal 1" }).click(), "is sold"],
    [() => page.getByRole("button", { name: "Find" }).click(), "Enter a number"],
    [() => page.getByRole("button", { name: "Forget" }).click(), "Forgotten."],
  ]) {
    await act();
    await page.locator("#notice", { hasText: text }).waitFor();
  }
  await enterKey(page, program.firstKey);
  assert.equal(await page.locator("#notice").textContent(), "");
});

test("without a key nothing is sent, and the page says why", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program);
  const before = requests.length;
  await page.locator("#name").fill("Rex");
  await page.getByLabel("Category").fill("1");
  for (const name of ["List animals", "Add"]) {
    await page.getByRole("button", { name, exact: true }).click({ force: true });
    await page.locator("#notice", { hasText: "Not sent: enter a key first." }).waitFor();
  }
  assert.equal(requests.length, before);
});

test("a hostile name is inert, and shown as what it is, in table and notice", { skip }, async (context) => {
  const program = await startProgram(context);
  const name = '<img src=x onerror="document.title=1">\u202egpj.exe\u0007\u200b';
  const { page, requests } = await openConsole(context, program);
  await enterKey(page, program.firstKey);
  await page.evaluate((text) => (document.getElementById("name").value = text), name);
  await page.getByLabel("Category").fill("1");
  await press(page, "Add", "#notice", /is added/);
  const visible = '<img src=x onerror="document.title=1">U+202Egpj.exeU+0007U+200B';
  assert.ok((await page.locator("#notice").innerText()).endsWith(visible));
  await press(page, "List animals", "#range", /^Animal 1 \(end\)$/);
  assert.equal((await rows(page))[0][1], `${visible} new`);
  const everything = await page.evaluate(() => document.body.textContent);
  assert.doesNotMatch(everything, /[\u202e\u0007\u200b]/);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.title(), "Animal Store console");
  assert.ok(!requests.some((line) => line.endsWith("/x")));
  const stored = await (await fetch(`${program.apiUrl}/pets`, { headers: bearer(program.firstKey) })).json();
  assert.equal(stored[0].name, name, "the name is sent exactly as typed");
});

test("an int64 is typed, sent and shown to the last digit, and so is the status that was chosen", { skip }, async (context) => {
  const { program, page } = await openWithKey(context, { allowed: [badRequest] });
  const typed = [["9223372036854775807", "pending"], ["-9223372036854775808", "sold"], ["9007199254740993", "available"]];
  for (const [category, status] of typed) {
    await page.getByLabel("Status").last().selectOption(status);
    await add(page, `N ${category}`, category);
    await page.getByText(`is added: N ${category}`).waitFor();
  }
  await press(page, "List animals", "#range", /^Animals 1 to 3 \(end\)$/);
  assert.deepEqual((await rows(page)).map(([, , category, status]) => [category, status]), typed);
  const raw = await (await fetch(`${program.apiUrl}/pets`, { headers: bearer(program.firstKey) })).text();
  assert.ok(raw.includes('"categoryId":9223372036854775807,'));
  await add(page, "Rex", "9223372036854775808");
  await page.locator("#notice", { hasText: "not beyond 9223372036854775807" }).waitFor();
  await add(page, "Rex", "7.5");
  await page.locator("#notice", { hasText: "The category is a whole number" }).waitFor();
});

test("after a broken connection, Add adds the animal once", { skip }, async (context) => {
  const { page } = await openWithKey(context, { allowed: ["net::ERR_"] });
  const sent = [];
  await page.route("**/v1/pets", async (route) => {
    sent.push(route.request().headers()["idempotency-key"]);
    await route.fetch();
    await route.abort("connectionreset"); // The service has added it; its response is lost.
  });
  await add(page, "Rex");
  await page.locator("#notice", { hasText: /^No answer: the service is stopped, or the connection broke/ }).waitFor();
  await page.unroute("**/v1/pets");
  const again = page.waitForRequest("**/v1/pets");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  sent.push((await again).headers()["idempotency-key"]);
  await page.locator("#notice", { hasText: "Animal 1 was added before: Rex" }).waitFor();
  assert.match(sent[0], /^"[\w-]+"$/);
  assert.equal(sent[1], sent[0]);
  assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  await press(page, "List animals", "#range", /^Animal 1 \(end\)$/);
});

test("Add sends the same request until the outcome is known, and a double click adds once", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context, { allowed: ["net::ERR_", "status of 429", "status of 503"] });
  const failures = ["abort", 429, 503];
  const names = [];
  await page.route("**/v1/pets", async (route) => {
    names.push(route.request().headers()["idempotency-key"]);
    const failure = failures.shift();
    if (typeof failure === "number") {
      await route.fulfill({ status: failure, body: '{"code":"outcome_unknown","message":"","status":0}' });
    } else {
      await (failure === undefined ? route.continue() : route.abort());
    }
  });
  await add(page, "Rex");
  for (const text of ["No answer", "may have been stored", "may have been stored"]) {
    await page.locator("#notice", { hasText: text }).waitFor();
    await page.getByRole("button", { name: "Add", exact: true }).click();
  }
  await page.locator("#notice", { hasText: "Animal 1 is added" }).waitFor();
  assert.equal(new Set(names).size, 1);
  await page.locator("#name").fill("Misty");
  await page.getByLabel("Category").fill("2");
  await page.getByRole("button", { name: "Add", exact: true }).dblclick({ delay: 150 }); // The first click is answered by then.
  assert.equal(await page.locator("#notice").innerText(), "Animal 2 is added: Misty");
  assert.equal(requests.filter((line) => line === "POST /v1/pets").length, 5);
});

test("after an add the focus is on the name, and the category stays; the status is as at first, so that nothing is sold by accident", { skip }, async (context) => {
  const { page } = await openWithKey(context);
  for (const [id, press] of [[1, () => page.keyboard.press("Enter")], [2, () => page.getByRole("button", { name: "Add", exact: true }).click()]]) {
    await page.locator("#status").selectOption("sold");
    await page.locator("#name").fill("Rex");
    await page.getByLabel("Category").fill("7");
    await press();
    await page.getByText(`Animal ${id} is added: Rex`).waitFor();
    const values = await Promise.all(["#name", "#category", "#status"].map((field) => page.locator(field).inputValue()));
    assert.deepEqual(values, ["", "7", "available"]);
    assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  }
});

test("an animal without a name takes no request, and the name has the focus", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context);
  await add(page, "");
  assert.equal(await page.evaluate(() => document.activeElement.id), "name");
  await add(page, "Rex");
  await page.getByText("Animal 1 is added: Rex").waitFor();
  assert.equal(requests.filter((line) => line === "POST /v1/pets").length, 1);
});

test("what is typed while an animal is being added stays, and so does the focus", { skip }, async (context) => {
  const { page } = await openWithKey(context, { allowed: ["net::ERR_"] });
  await page.route("**/v1/pets", (route) => route.abort());
  await add(page, "Rex");
  await page.locator("#notice", { hasText: "No answer" }).waitFor();
  let respond;
  await page.route("**/v1/pets", (route) => (respond = () => route.continue()));
  await Promise.all([page.waitForRequest("**/v1/pets"), page.getByRole("button", { name: "Add", exact: true }).click()]);
  await page.locator("#name").fill("Misty");
  await respond();
  await page.locator("#notice", { hasText: "Animal 1 is added: Rex" }).waitFor();
  assert.equal(await page.locator("#name").inputValue(), "Misty");
  assert.equal(await page.evaluate(() => document.activeElement.id), "name");
});

test("a press while a request is under way is not dropped in silence", { skip }, async (context) => {
  const { page } = await openWithKey(context);
  let respond;
  await page.route("**/v1/pets", (route) => (respond = () => route.continue()));
  await page.getByLabel("Page size").fill("");
  await Promise.all([page.waitForRequest("**/v1/pets"), page.getByRole("button", { name: "List animals" }).click()]);
  await press(page, "Forget", "#notice", /^Not sent: a request is under way/);
  await respond();
  await page.locator("body[aria-busy=false]").waitFor();
  await press(page, "Forget", "#notice", /Forgotten/);
});

test("a held Enter is one press", { skip }, async (context) => {
  const { page, requests } = await openWithKey(context);
  await page.getByLabel("Page size").focus();
  for (let count = 0; count < 5; count++) {
    await page.keyboard.down("Enter"); // All but the first are repetitions.
    await page.locator("#range", { hasText: "empty" }).waitFor();
  }
  await page.getByRole("button", { name: "Refresh" }).focus();
  await page.keyboard.down("Enter");
  await page.locator("body[aria-busy=false]").waitFor();
  await press(page, "List animals", "#range", /empty/);
  assert.deepEqual(requests.filter((line) => line.includes("/v1/")), ["GET /v1/limits", "GET /v1/pets", "GET /v1/pets", "GET /v1/pets"]);
});

test("a mistyped key stays in its field, selected, with the reason beside it, and touches no quota of a key", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page, requests } = await openConsole(context, program, { allowed: ["status of 401"] });
  const field = page.getByLabel("API key");
  const isSelected = (text) => field.evaluate((node, all) => {
    const { activeElement } = document;
    return activeElement === node && node.value === all && node.selectionStart === 0 && node.selectionEnd === all.length;
  }, text);
  for (const typed of ["", "as_", `as_${"x".repeat(42)}`, `as_${"x".repeat(44)}`]) {
    await field.fill(typed);
    await field.press("Enter");
    await page.locator("#notice", { hasText: "keys are as_ followed by 43 letters and digits" }).waitFor();
    assert.ok(await isSelected(typed), typed);
  }
  assert.deepEqual(requests.filter((line) => line.includes("/v1/")), []);
  const unknown = `as_${"x".repeat(43)}`;
  await field.fill(unknown);
  await field.press("Enter");
  await page.locator("#notice", { hasText: /does not know this key: it is mistyped, revoked or expired/ }).waitFor();
  assert.ok(await isSelected(unknown));
  assert.equal(await field.getAttribute("aria-invalid"), "true");
  assert.deepEqual(requests.filter((line) => line.includes("/v1/")), ["GET /v1/limits"]);
  assert.ok(await page.locator("#meters").isHidden());
  assert.ok(await page.locator("#key-in-use").isHidden());
  await enterKey(page, `  Authorization: Bearer ${program.firstKey}  `);
  assert.ok(await page.locator("#key-in-use").isVisible());
  assert.equal(await field.inputValue(), "");
});

test("a key that is revoked while it is used is asked for again", { skip }, async (context) => {
  const { page } = await openWithKey(context, { pets: [{ name: "Rex", categoryId: 1 }], allowed: ["status of 401"] });
  await page.route("**/v1/limits", (route) =>
    route.fulfill({ status: 401, body: '{"code":"invalid_api_key","message":"The API key is not valid.","status":401}' }),
  );
  await press(page, "Refresh", "#notice", /does not know this key/);
  assert.ok(await page.getByLabel("API key").isVisible());
  assert.ok(await page.locator("#table").isHidden(), "another key's catalogue is gone");
});

test("a success that the service did not send is explained", { skip }, async (context) => {
  const program = await startProgram(context);
  const { page } = await openConsole(context, program, { allowed: ["status of 400"] });
  const headers = { "Content-Type": "text/html", "X-RateLimit-Limit": "60" };
  await page.route("**/v1/limits", (route) => route.fulfill({ headers, body: "<h1>Please sign in</h1>" }));
  await enterKey(page, program.firstKey);
  assert.equal(await page.locator("#notice").innerText(), between);
  await page.unroute("**/v1/limits");
  await page.getByRole("button", { name: "Use key" }).click(); // The key is still in its field.
  await page.locator("#range", { hasText: "empty" }).waitFor();
  await page.route("**/v1/pets", (route) => route.fulfill({ status: 201, headers, body: "<h1>Please sign in</h1>" }));
  await add(page, "Rex");
  await page.locator("#notice", { hasText: between }).waitFor();
  await page.unroute("**/v1/pets");
  await press(page, "Add", "#notice", /Animal 1 is added: Rex/);
  await page.route("**/v1/pets?*", (route) => route.fulfill({ status: 400, body: '{"code":{"toString":1},"message":{"toString":1}}' }));
  await press(page, "List animals", "#notice", between);
  await page.unroute("**/v1/pets?*");
  await press(page, "List animals", "#range", /^Animal 1 \(end\)$/);
});

test("below a proxy's prefix, and with a base address elsewhere, the console works", { skip }, async (context) => {
  for (const args of [[], ["--base-url", "https://api.example/shop/v1"]]) {
    const program = await startProgram(context, { args });
    const proxy = await startProxy(context, program.origin, "/tools/animals");
    for (const [origin, path] of [[program.origin, "/"], [proxy, "/tools/animals/"]]) {
      const { page, requests } = await openConsole(context, { origin }, { path });
      await enterKey(page, program.firstKey);
      for (const name of ["Rex", "Misty"]) {
        await add(page, name);
        await page.getByText(`is added: ${name}`).waitFor();
      }
      await page.getByLabel("Page size").fill("1");
      await press(page, "List animals", "#range", /^Animal 1$/);
      await press(page, "Next", "#range", /^Animal 2/);
      assert.ok(requests.includes(`GET ${path}v1/pets`), requests.join());
    }
  }
});

/** Passes on what is below the prefix, without the prefix. */
async function startProxy(context, target, prefix) {
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url.startsWith(`${prefix}/`)) {
      outgoing.writeHead(404).end();
      return;
    }
    const options = { method: incoming.method, headers: incoming.headers };
    const onward = httpRequest(target + incoming.url.slice(prefix.length), options, (response) => {
      outgoing.writeHead(response.statusCode, response.headers);
      response.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${server.address().port}`;
}

function bearer(key) {
  return { Authorization: `Bearer ${key}` };
}

/** Presses a button and waits until the element says what it should. */
async function press(page, name, selector, text) {
  await page.getByRole("button", { name, exact: true }).click();
  await page.locator(selector, { hasText: text }).waitFor();
}

/** The table's texts, row by row. */
function rows(page) {
  return page.locator("#pets tr").evaluateAll((all) => all.map((row) => [...row.cells].slice(0, 4).map((cell) => cell.textContent)));
}
