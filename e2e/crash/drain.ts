/** Follows the client's and the receiver's logs until every accepted recipient has its last event. */
import { join } from 'node:path'
import { followLog } from './follow-log.ts'
import type { ClientFact, SendRequest, WebhookLogFact } from './history.ts'

export interface Progress {
  /**
   * What is still to come: recipients without their last event, events without a 2xx. From a receiver
   * that refuses poison no 2xx is expected for it, only that the poison has been there.
   */
  missing(o: { readonly isRefusing: boolean }): string[]
}

export function followProgress(directory: string): Progress {
  const client = followLog<ClientFact>(join(directory, 'client.ndjson'))
  const webhook = followLog<WebhookLogFact>(join(directory, 'webhook.ndjson'))
  const sends = new Map<string, SendRequest>()
  const requests = new Map<number, readonly WireEvent[]>()
  const open = new Set<string>()
  const poisoned = new Set<string>()
  const ended = new Set<string>()
  const endSeen = new Set<string>()
  const seen = new Map<string, WireEvent>()
  const acknowledged = new Set<string>()
  const onClient = (fact: ClientFact): void => {
    if (fact.fact === 'send.invoked') sends.set(fact.key, fact.request)
    if (fact.fact !== 'send.answered' || fact.status !== 202) return
    const { ref_id } = fact.answer as { ref_id: string }
    const { to = [], cc = [], bcc = [], custom_args } = sends.get(fact.key) ?? {}
    for (const { email } of [...to, ...cc, ...bcc]) {
      open.add(`${ref_id} ${email}`)
      if (custom_args?.poison === true) poisoned.add(`${ref_id} ${email}`)
    }
  }
  const onRequest = (fact: Extract<WebhookLogFact, { fact: 'request.received' }>): void => {
    const events = JSON.parse(fact.body) as WireEvent[]
    for (const event of events) {
      seen.set(JSON.stringify(event), event)
      for (const recipient of endedBy(event)) endSeen.add(recipient)
    }
    const { status = 0, ending } = fact.answer
    if (status >= 200 && status < 300 && ending === undefined) requests.set(fact.request, events)
  }
  const onAcknowledged = (event: WireEvent): void => {
    acknowledged.add(JSON.stringify(event))
    for (const recipient of endedBy(event)) ended.add(recipient)
  }
  return {
    missing({ isRefusing }) {
      for (const fact of client()) onClient(fact)
      for (const fact of webhook()) {
        if (fact.fact === 'request.received') onRequest(fact)
        if (fact.fact === 'answer.flushed') requests.get(fact.request)?.forEach(onAcknowledged)
      }
      const isOpen = (recipient: string): boolean =>
        !(isRefusing && poisoned.has(recipient) ? endSeen : ended).has(recipient)
      const isExpected = ([json, event]: readonly [string, WireEvent]): boolean =>
        !acknowledged.has(json) && !(isRefusing && event.details.custom_args?.poison === true)
      return [...[...open].filter(isOpen), ...[...seen].filter(isExpected).map(([json]) => json)]
    },
  }
}

/** The recipients whose last event it is. */
function endedBy({ event, details }: WireEvent): string[] {
  if (event !== 'MAIL_DELIVERED' && details.retry_scheduled !== false) return []
  return details.email.map((address) => `${details.ref_id} ${address}`)
}

interface WireEvent {
  readonly event: string
  readonly details: {
    readonly ref_id: string
    readonly email: readonly string[]
    readonly retry_scheduled?: boolean
    readonly custom_args?: { readonly poison?: boolean }
  }
}
