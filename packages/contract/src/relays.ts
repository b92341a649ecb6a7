/** Accounts at relay providers (contract §3.4). */

/** `sparkpost` is the interface's provider A, `sendgrid` its provider B; `simulator` never leaves the process. */
export const relayKinds = ['sparkpost', 'sendgrid', 'simulator'] as const
export type RelayKind = (typeof relayKinds)[number]
