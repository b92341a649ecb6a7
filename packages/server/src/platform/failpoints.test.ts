import { describe, expect, it } from 'vitest'
import { createFailpoints } from './failpoints.ts'

describe('failpoints', () => {
  it('do nothing by default', () => {
    let kills = 0
    createFailpoints(undefined, () => kills++).hit('send.after_dot')
    expect(kills).toBe(0)
  })

  it('end the process once, at the named place', () => {
    let kills = 0
    const failpoints = createFailpoints(
      'send.after_dot=kill@3, api.after_commit=kill',
      () => kills++,
    )
    failpoints.hit('send.after_dot')
    failpoints.hit('send.after_dot')
    expect(kills).toBe(0)
    failpoints.hit('send.after_dot')
    failpoints.hit('send.after_dot')
    expect(kills).toBe(1)
    failpoints.hit('api.after_commit')
    expect(kills).toBe(2)
  })

  it.each(['send.after_dot', 'nowhere=kill', 'send.after_dot=kill@0', ''])('refuse %j', (spec) => {
    expect(() => createFailpoints(spec)).toThrow('is not a failpoint')
  })
})
