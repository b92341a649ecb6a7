/** Alerts: who is told that something goes wrong. */
export { urlPlaceOf } from './receiver.ts'
