/**
 * Examples of the description: what a running service was asked and answered, as `e2e/examples.test.ts`
 * has recorded it and holds against it.
 */
import { readFileSync } from 'node:fs'
import type { OperationId, WebhookEvent } from '@postrider/contract'

export interface OperationExample {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly answer: unknown
}

export interface Examples {
  readonly operations: Partial<Record<OperationId, OperationExample>>
  readonly webhooks: Readonly<Record<WebhookEvent | 'INCOMING', unknown>>
}

export function readExamples(): Examples {
  return JSON.parse(readFileSync(new URL('examples.json', import.meta.url), 'utf8'))
}
