/**
 * Reads the body of a webhook request (docs/reference/webhooks.md#envelope): an array of events, or
 * one event as a single object.
 *
 * What is not of the service is refused with the place of the first flaw. Fields that are not
 * known are kept. Nothing of a hostile body reaches the caller's objects or its stack: nesting is
 * bounded, and so are the names with which a careless merge would reach `Object.prototype`. The
 * service takes neither from its own callers, so no event of it is lost by that.
 */
import {
  type Check,
  type Flaw,
  flaw,
  isObject,
  isOctets,
  listOf,
  pointerOf,
  under,
} from './check.ts'
import { checkEvent } from './check-event.ts'
import type { ReceivedEvent } from './event-types.ts'
import { WebhookError } from './webhook-error.ts'

/** The service itself stops at 64, and wraps them in three of its own. */
const depthMax = 100
/** Some hundred times those of a full batch. */
const valuesMax = 5_000_000

/**
 * The events in the order in which they were sent.
 *
 * `body` is the text or the octets of the request, or what a body parser has made of them.
 *
 * @throws {WebhookError} `not_json` or `not_an_event`
 */
export function parseWebhook(body: string | Uint8Array | unknown): ReceivedEvent[] {
  const value = isOctets(body) ? readJson(decode(body)) : readText(body)
  const found = findUnsafe(value) ?? checkBody(value)
  if (found) {
    const path = pointerOf(found)
    const message = `Not a webhook of Postrider: ${path || 'the body'} ${found.message}`
    throw new WebhookError('not_an_event', message, { path })
  }
  return (Array.isArray(value) ? value : [value]) as ReceivedEvent[]
}

const checkEvents = listOf(checkEvent)
const checkBody: Check = (value) => {
  if (!Array.isArray(value)) return isObject(value) ? checkEvent(value) : flaw(notEvents)
  return value.length === 0 ? flaw('must hold at least one event') : checkEvents(value)
}
const notEvents = 'must be an event or an array of events'

function decode(octets: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets)
  } catch (error) {
    throw new WebhookError('not_json', 'The body is not UTF-8', { cause: error })
  }
}

function readText(body: unknown): unknown {
  return typeof body === 'string' ? readJson(body) : body
}

/** Without the parser's own error as the cause: its message quotes the body. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new WebhookError('not_json', `The body, of ${text.length} characters, is not JSON`)
  }
}

function findUnsafe(body: unknown): Flaw | undefined {
  let values = 0
  const find = (value: unknown, depth: number): Flaw | undefined => {
    values += 1
    if (typeof value !== 'object' || value === null) return undefined
    if (depth === depthMax) return flaw(`must not be nested deeper than ${depthMax} levels`)
    if (values > valuesMax) return flaw(`must not be in a body of more than ${valuesMax} values`)
    return Array.isArray(value) ? findInArray(value, depth) : findInObject(value, depth)
  }
  const findInArray = (list: readonly unknown[], depth: number) => {
    for (let i = 0; i < list.length; i++) {
      const found = find(list[i], depth + 1)
      if (found) return under(i, found)
    }
    return undefined
  }
  const findInObject = (object: object, depth: number) => {
    for (const [key, value] of Object.entries(object)) {
      const found = reachesPrototype(key, value)
        ? flaw('is a forbidden name')
        : find(value, depth + 1)
      if (found) return under(key, found)
    }
    return undefined
  }
  return find(body, 0)
}

function reachesPrototype(key: string, value: unknown): boolean {
  if (key === '__proto__') return true
  return key === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype')
}
