/** The front door: the server, and a look at one that runs already. */
export { createEmbeddedPostgres, type EmbeddedPostgres } from './embedded-postgres.ts'
export { type EmbeddedState, findEmbedded } from './running-url.ts'
