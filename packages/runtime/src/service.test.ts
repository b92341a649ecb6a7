import { describe, expect, it } from 'vitest'
import { createServiceGroup, type Service } from './service.ts'

function recorder(
  log: string[],
  name: string,
  fails: 'start' | 'stop' | 'never' = 'never',
): Service {
  return {
    name,
    start: async () => {
      log.push(`start ${name}`)
      if (fails === 'start') throw new Error(`${name} cannot start`)
    },
    stop: async () => {
      log.push(`stop ${name}`)
      if (fails === 'stop') throw new Error(`${name} cannot stop`)
    },
  }
}

describe('service group', () => {
  it('starts in order, stops in the opposite order, and only once', async () => {
    const log: string[] = []
    const group = createServiceGroup('all', [recorder(log, 'a'), recorder(log, 'b')])
    await group.start()
    await group.stop()
    await group.stop()
    expect(log).toEqual(['start a', 'start b', 'stop b', 'stop a'])
  })

  it('stops every service once that was never started', async () => {
    const log: string[] = []
    const group = createServiceGroup('all', [recorder(log, 'a'), recorder(log, 'b')])
    await group.stop()
    await group.stop()
    expect(log).toEqual(['stop b', 'stop a'])
  })

  it('stops every service when one cannot start', async () => {
    const log: string[] = []
    const group = createServiceGroup('all', [
      recorder(log, 'a'),
      recorder(log, 'b', 'start'),
      recorder(log, 'c'),
    ])
    await expect(group.start()).rejects.toThrow('b cannot start')
    await group.stop()
    expect(log).toEqual(['start a', 'start b', 'stop c', 'stop b', 'stop a'])
  })

  it('stops the others when one cannot stop, and says so', async () => {
    const log: string[] = []
    const group = createServiceGroup('all', [recorder(log, 'a'), recorder(log, 'b', 'stop')])
    await group.start()
    await expect(group.stop()).rejects.toThrow('stopping failed')
    expect(log.at(-1)).toBe('stop a')
  })
})
