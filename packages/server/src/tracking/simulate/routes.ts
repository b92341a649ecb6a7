/** simulateEvent (docs/reference/test-mode.md#events-on-demand), in the role `api`. */
import {
  emailParams,
  simulateEventAnswer,
  simulateEventBody,
  simulationsMax,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { type SimulateEventDeps, simulateEvent } from './simulate-event.ts'

export function simulateRoutes(app: FastifyInstance, deps: Omit<SimulateEventDeps, 'uses'>): void {
  const uses = createRateLimit({ name: 'simulated-events', usesMax: simulationsMax, windowS: 60 })
  addOperation(app, 'simulateEvent', {
    summary: 'Let a recipient of test mail open, click, bounce or complain',
    description: `Of mail that a key of test mode sent: it went to nobody, so nobody does anything with it by itself. What follows is real: the event with its webhooks, the status, the trace. Suppressions are left alone. An open needs an email with \`open_tracking\`, a click one with \`click_tracking\` and a link. An open within a second of the delivery, and a click within three, count as done by a program, as they do for other mail. The answer comes before the event of a bounce or a complaint. At most ${simulationsMax} a minute.`,
    tag: 'Email',
    params: emailParams,
    body: simulateEventBody,
    answer: simulateEventAnswer,
    scopes: ['send'],
    isForTests: true,
    errors: ['conflict', 'content_removed', 'rate_limited'],
    async handle({ tenant: { tenantId }, params: { ref_id: refId }, body }) {
      const simulated = await simulateEvent({ ...deps, uses }, { tenantId, refId }, body)
      return { message: 'Event Simulated', ref_id: refId, simulated }
    },
  })
}
