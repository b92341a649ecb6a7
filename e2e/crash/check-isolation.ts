/**
 * No byte of one tenant reaches another, and no secret is printed: invariant 8, by canaries that only
 * their owner's data carry.
 */
import type { History } from './history.ts'
import type { Model } from './model.ts'
import type { Violation } from './report.ts'

export function checkIsolation(history: History, model: Model): Violation[] {
  const violations: Violation[] = []
  const look = (where: string, owner: string | undefined, text: string): void => {
    for (const tenant of model.tenants) {
      if (tenant.tenant !== owner && text.includes(tenant.canary)) {
        violations.push({ rule: 'I8.canary', detail: `${where} holds data of ${tenant.tenant}` })
      }
    }
  }
  for (const { request, log, tenant } of model.requests) {
    look(`request ${request}`, tenant?.tenant, `${JSON.stringify(log.headers)}${log.body}`)
  }
  for (const fact of history.client) {
    if (fact.fact === 'send.answered') {
      look(`the answer to ${fact.key}`, fact.tenant, JSON.stringify(fact.answer))
    }
    if (fact.fact === 'deliveries.read') {
      look(`the deliveries of ${fact.tenant}`, fact.tenant, JSON.stringify(fact.deliveries))
    }
  }
  for (const { tenant, secrets } of model.tenants) {
    for (const [name, text] of Object.entries(history.output)) {
      if (secrets.some((secret) => text.includes(secret))) {
        violations.push({ rule: 'I8.secret', detail: `${name} holds a secret of ${tenant}` })
      }
    }
  }
  const senderOf = new Map(
    model.sends.flatMap((send) =>
      send.recipients.map((address): [string, string] => [address.toLowerCase(), send.tenant]),
    ),
  )
  for (const fact of history.smtp) {
    if (fact.fact !== 'message.received') continue
    const owner = senderOf.get(fact.recipients[0]?.toLowerCase() ?? '')
    look(`message ${fact.transaction}`, owner, `${fact.from}\n${fact.raw}`)
  }
  return violations
}
