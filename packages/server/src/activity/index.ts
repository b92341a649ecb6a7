/** Activity: the front door of what was recorded of emails. Routes are mounted by `create.ts`. */
export { getEmail } from './get-email.ts'
export { listLogs } from './list-logs.ts'
