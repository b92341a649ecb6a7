import { mailerStates } from '@postrider/contract'
import { expect, it } from 'vitest'
import { decideState, type StateCause } from './decide-state.ts'

const rejected = (configVersion: number): StateCause => ({
  kind: 'rejected',
  reason: 'provider_auth_error',
  evidence: '535 no',
  configVersion,
})

it.each<[string, StateCause, Record<(typeof mailerStates)[number], string | undefined>]>([
  [
    'a rejected login',
    rejected(3),
    { active: 'deactivated', deactivated: undefined, disabled: undefined },
  ],
  [
    'a rejected login of another configuration',
    rejected(2),
    { active: undefined, deactivated: undefined, disabled: undefined },
  ],
  [
    'credentials that work',
    { kind: 'authenticated' },
    { active: undefined, deactivated: 'active', disabled: undefined },
  ],
  [
    'switching on',
    { kind: 'switched', to: 'active' },
    { active: undefined, deactivated: 'active', disabled: 'active' },
  ],
  [
    'switching off',
    { kind: 'switched', to: 'disabled' },
    { active: 'disabled', deactivated: 'disabled', disabled: undefined },
  ],
])('[interface 3] decides the state after %s', (_, cause, expected) => {
  for (const state of mailerStates)
    expect([state, decideState({ state, configVersion: 3 }, cause)]).toEqual([
      state,
      expected[state],
    ])
})
