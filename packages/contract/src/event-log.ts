/**
 * Queries and answer of listEvents and streamEvents (docs/reference/events.md#list). What times, dates
 * and ids mean is checked by the server.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  closedObject,
  inboundIdFilter,
  jsonObject,
  nextPageToken,
  pageQuery,
  refIdFilter,
  timeOrDate,
} from './common.ts'
import { eventNames } from './deliveries.ts'
import { emailLengthMax } from './mailers.ts'

const eventFilters = {
  event: Type.Optional(Type.Enum([...eventNames], { description: 'Name of the event' })),
  ref_id: Type.Optional(refIdFilter),
  email: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: emailLengthMax,
      description: "The recipient's address, compared without case",
      examples: ['ada@example.com'],
    }),
  ),
  mailer_id: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 64,
      description:
        'The mailer that the event tells of. One that is unknown or malformed finds nothing',
      examples: ['smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
    }),
  ),
}

export const listEventsQuery = closedObject({
  ...eventFilters,
  inbound_id: Type.Optional(inboundIdFilter),
  start: Type.Optional(timeOrDate('Happened at this time or later')),
  end: Type.Optional(timeOrDate('Happened at this time or earlier')),
  ...pageQuery.properties,
})
export type ListEventsQuery = Static<typeof listEventsQuery>

export const streamEventsQuery = closedObject(eventFilters)
export type StreamEventsQuery = Static<typeof streamEventsQuery>

/** Event streams that may be open at once in one process: of an API key, of a tenant, in all. */
export const streamsPerKeyMax = 1_000
export const streamsPerTenantMax = 2_000
export const streamsPerProcessMax = 4_000

export const listedEvent = closedObject(
  {
    event_id: Type.String({
      description: 'Identifier of the event in the log',
      examples: ['evt_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
    }),
    event: Type.Enum([...eventNames], { description: 'Name of the event' }),
    success: Type.Optional(Type.Boolean({ description: 'Absent on `DOMAIN_VERIFICATION`' })),
    details: jsonObject({ description: 'As a webhook gets them, see "Webhook requests"' }),
  },
  { description: 'The event as a webhook gets it, and `event_id`' },
)
export type ListedEvent = Static<typeof listedEvent>

export const listEventsAnswer = answer({
  events: Type.Array(listedEvent, { description: 'Newest first' }),
  nextPageToken,
})
export type ListEventsAnswer = Static<typeof listEventsAnswer>
