/** The providers that this service knows, each with its adapter. */
import type { RelayKind } from '@postrider/contract'
import type { RelayAdapter } from './relay.ts'
import { sendgrid } from './sendgrid/sendgrid.ts'
import { simulator } from './simulator/simulator.ts'
import { sparkpost } from './sparkpost/sparkpost.ts'

const ADAPTERS: Readonly<Record<RelayKind, RelayAdapter>> = { sparkpost, sendgrid, simulator }

export function adapterOf(kind: RelayKind): RelayAdapter {
  return ADAPTERS[kind]
}
