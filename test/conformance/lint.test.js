import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { here, runTool, startService } from "./running-service.js";

const addresses = ["--base-url", "https://animals.test/v1", "--staging-base-url", "https://staging.animals.test/v1"];

for (const args of [[], addresses]) {
  const which = args.length === 0 ? "without addresses" : "with addresses";

  test(`Redocly and Spectral find no fault with the description ${which}`, async () => {
    const service = await startService(args);
    const path = join(here, "generated", "openapi.json");
    await writeFile(path, await (await fetch(`${service.origin}/openapi.json`)).text());
    await service.stop();

    const redocly = runTool("redocly", ["lint", "--config", "redocly.yaml", path]);
    console.log(redocly.output);
    assert.equal(redocly.status, 0);
    assert.match(redocly.output, /Your API description is valid/);
    assert.doesNotMatch(redocly.output, /[1-9][0-9]* (warning|error)/);

    const spectral = runTool("spectral", ["lint", "--ruleset", "spectral.yaml", "--fail-severity=hint", path]);
    console.log(spectral.output);
    assert.equal(spectral.status, 0);
    assert.match(spectral.output, /No results/);
  });
}
