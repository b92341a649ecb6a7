/** The schema of every event that the contract has one for, by the event's name. */
import {
  domainVerification,
  imapError,
  mailerDeactivated,
  messageEventSchemas,
} from '@postrider/contract'
import type { TSchema } from 'typebox'
import type { EventName } from '../src/webhooks/event-types.ts'

const schemas = [...messageEventSchemas, mailerDeactivated, domainVerification, imapError]

export const schemaOf: ReadonlyMap<EventName, TSchema> = new Map(
  schemas.map((schema) => [schema.properties.event.const, schema]),
)

/** INCOMING_EMAIL has a type and no schema. */
export const eventNames: readonly EventName[] = [...schemaOf.keys(), 'INCOMING_EMAIL']
