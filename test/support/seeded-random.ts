export * from "../../src/testing/seeded-random.ts";
