/** The providers that this service knows, each with its adapter. */
import type { RelayKind } from '@postrider/contract'
import type { RelayAdapter } from './relay.ts'
import { sendgrid } from './sendgrid/sendgrid.ts'
import { simulator } from './simulator/simulator.ts'

const ADAPTERS: Readonly<Partial<Record<RelayKind, RelayAdapter>>> = { sendgrid, simulator }

export function adapterOf(kind: RelayKind): RelayAdapter {
  const adapter = ADAPTERS[kind]
  if (adapter === undefined) throw new Error(`There is no adapter for ${kind}`)
  return adapter
}
