/** Migration 3: the functions of release 2.0. It changes no table. */

export const migration3 = "";
