/**
 * The history put in order: sends with their recipients, what the SMTP server saw of each recipient,
 * and the webhook requests with the events in them. Judges nothing.
 */
import type { ClientFact, History, SendRequest, WebhookLogFact } from './history.ts'

export type Tenant = Extract<ClientFact, { fact: 'tenant.ready' }>

export interface Send {
  readonly key: string
  readonly tenant: string
  readonly traceId: string
  readonly request: SendRequest
  readonly recipients: readonly string[]
  readonly invokedAt: number
  readonly answers: { readonly status: number; readonly answer: unknown }[]
  /** Of every answer that accepted it: more than one is a fault. */
  readonly refIds: Set<string>
}

export interface Copy {
  readonly at: number
  readonly transaction: number
  readonly messageId: string
  readonly raw: string
  readonly reply: string | null
  readonly accepted: boolean
  readonly replyFlushed: boolean
}

/** What the SMTP server knows of one address; each address occurs in one email only. */
export interface Seen {
  /** Messages whose final dot came. */
  readonly copies: Copy[]
  /** Refusals (4yz, 5yz) that were given to it, at any phase, lines joined by a space. */
  readonly refusals: string[]
  /** How often a message was cut off before its final dot came. */
  cutShort: number
  /** When each transaction named it. */
  readonly namedAt: number[]
}

export interface DeliveredEvent {
  readonly event: string
  readonly success: unknown
  readonly details: Readonly<Record<string, unknown>>
  /** `ref_id + event + event_at (+ attempt)` */
  readonly dedupKey: string
  readonly json: string
  readonly request: number
  readonly tenant: Tenant
}

export interface Request {
  readonly request: number
  readonly at: number
  readonly log: Extract<WebhookLogFact, { fact: 'request.received' }>
  readonly tenant: Tenant | undefined
  /** The elements of its body, undefined when that is no array of objects. */
  readonly events: readonly DeliveredEvent[] | undefined
  /** A 2xx was handed to the kernel as a whole. */
  readonly acknowledged: boolean
}

export interface Model {
  readonly tenants: readonly Tenant[]
  readonly sends: readonly Send[]
  readonly seen: ReadonlyMap<string, Seen>
  readonly requests: readonly Request[]
  /** The events of each recipient (`<ref_id> <address>`), repetitions taken out, by event_at. */
  readonly eventsOf: ReadonlyMap<string, readonly DeliveredEvent[]>
  /** When a process was killed, or stood still and then found its work taken over. */
  readonly cuts: readonly Cut[]
}

export interface Cut {
  readonly process: string
  readonly at: number
  /** What it had under way may still take effect until then. */
  readonly until: number
}

export const recipientKey = (refId: string, address: string): string =>
  `${refId} ${address.toLowerCase()}`

export function buildModel(history: History): Model {
  const tenants = history.client.filter((fact) => fact.fact === 'tenant.ready')
  const requests = readRequests(history, tenants)
  return {
    tenants,
    sends: readSends(history),
    seen: readSeen(history),
    requests,
    eventsOf: groupEvents(requests),
    cuts: readCuts(history),
  }
}

function readCuts({ nemesis }: History): Cut[] {
  return nemesis.flatMap((fact): Cut[] => {
    if (fact.fact === 'process.died' && fact.by !== 'stop') {
      return [{ process: fact.process, at: fact.at, until: fact.at }]
    }
    if (fact.fact !== 'process.frozen') return []
    const thaw = nemesis.find((one) => one.fact === 'process.thawed' && one.pid === fact.pid)
    return [{ process: fact.process, at: fact.at, until: thaw?.at ?? fact.at }]
  })
}

function readSends(history: History): Send[] {
  const sends = new Map<string, Send>()
  for (const fact of history.client) {
    if (fact.fact === 'send.invoked' && !sends.has(fact.key)) {
      const { to, cc = [], bcc = [] } = fact.request
      sends.set(fact.key, {
        key: fact.key,
        tenant: fact.tenant,
        traceId: fact.traceparent.split('-')[1] ?? '',
        request: fact.request,
        recipients: [...to, ...cc, ...bcc].map((one) => one.email),
        invokedAt: fact.at,
        answers: [],
        refIds: new Set(),
      })
    }
    if (fact.fact !== 'send.answered') continue
    const send = sends.get(fact.key)
    send?.answers.push({ status: fact.status, answer: fact.answer })
    const refId = (fact.answer as { ref_id?: unknown } | null)?.ref_id
    if (fact.status === 202 && typeof refId === 'string') send?.refIds.add(refId)
  }
  return [...sends.values()]
}

function readSeen(history: History): Map<string, Seen> {
  const seen = new Map<string, Seen>()
  const at = (address: string): Seen => {
    const name = address.toLowerCase()
    const known = seen.get(name) ?? { copies: [], refusals: [], cutShort: 0, namedAt: [] }
    seen.set(name, known)
    return known
  }
  const flushed = new Set(
    history.smtp.flatMap((fact) => (fact.fact === 'reply.flushed' ? [fact.transaction] : [])),
  )
  for (const fact of history.smtp) {
    if (fact.fact === 'reply.given' && fact.phase === 'rcpt' && fact.recipient !== undefined) {
      const one = at(fact.recipient)
      one.namedAt.push(fact.at)
      if (isRefusal(fact.reply)) one.refusals.push(joinLines(fact.reply))
    }
    if (fact.fact === 'reply.given' && fact.phase === 'body' && fact.recipient !== undefined) {
      at(fact.recipient).cutShort += 1
    }
    if (fact.fact !== 'message.received') continue
    for (const recipient of fact.recipients) {
      const one = at(recipient)
      if (isRefusal(fact.reply)) one.refusals.push(joinLines(fact.reply))
      one.copies.push({ ...fact, replyFlushed: flushed.has(fact.transaction) })
    }
  }
  return seen
}

function isRefusal(reply: string | null): reply is string {
  return reply !== null && /^[45]/.test(reply)
}

function joinLines(reply: string): string {
  return reply.split('\n').join(' ')
}

function readRequests(history: History, tenants: readonly Tenant[]): Request[] {
  const flushed = new Set(
    history.webhook.flatMap((fact) => (fact.fact === 'answer.flushed' ? [fact.request] : [])),
  )
  return history.webhook.flatMap((log) => {
    if (log.fact !== 'request.received') return []
    const tenant = tenants.find((one) => one.path === log.path)
    const { status = 0 } = log.answer
    const isGood = status >= 200 && status < 300 && log.answer.ending === undefined
    return {
      request: log.request,
      at: log.at,
      log,
      tenant,
      events: tenant === undefined ? undefined : readEvents(log.body, log.request, tenant),
      acknowledged: isGood && flushed.has(log.request),
    }
  })
}

function readEvents(body: string, request: number, tenant: Tenant): DeliveredEvent[] | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch {
    return undefined
  }
  if (!Array.isArray(parsed)) return undefined
  return parsed.map((element) => {
    const { event, success, details = {} } = element as DeliveredEvent
    const key = [details.ref_id, event, details.event_at, details.attempt ?? '']
    return {
      event,
      success,
      details,
      dedupKey: key.join(' '),
      json: JSON.stringify(element),
      request,
      tenant,
    }
  })
}

function groupEvents(requests: readonly Request[]): Map<string, DeliveredEvent[]> {
  const groups = new Map<string, Map<string, DeliveredEvent>>()
  for (const event of requests.flatMap((request) => request.events ?? [])) {
    for (const address of Array.isArray(event.details.email) ? event.details.email : []) {
      const key = recipientKey(String(event.details.ref_id), String(address))
      const group = groups.get(key) ?? new Map<string, DeliveredEvent>()
      groups.set(key, group)
      if (!group.has(event.dedupKey)) group.set(event.dedupKey, event)
    }
  }
  return new Map([...groups].map(([key, group]) => [key, [...group.values()].sort(byTime)]))
}

function byTime(a: DeliveredEvent, b: DeliveredEvent): number {
  const [left, right] = [String(a.details.event_at), String(b.details.event_at)]
  return left < right ? -1 : left > right ? 1 : 0
}
