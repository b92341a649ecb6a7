import { describe, expect, it } from 'vitest'
import { readTracingSettings } from './settings.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }

describe('the variables of OpenTelemetry', () => {
  it('ask for traces by an endpoint alone', () => {
    expect(readTracingSettings({}).isOn).toBe(false)
    expect(readTracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }).isOn).toBe(false)
    expect(readTracingSettings(endpoint)).toEqual({
      isOn: true,
      sampler: 'parentbased_always_on',
      ratio: 1,
      timeoutMs: 5_000,
      problems: [],
    })
    const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://otel.example.com/v1/traces' }
    expect(readTracingSettings(own).isOn).toBe(true)
  })

  it.each([
    { OTEL_SDK_DISABLED: 'true' },
    { OTEL_SDK_DISABLED: 'TRUE' },
    { OTEL_TRACES_EXPORTER: 'none' },
  ])('ask for none with %o', (off) => {
    expect(readTracingSettings({ ...endpoint, ...off })).toMatchObject({
      isOn: false,
      problems: [],
    })
  })

  it.each(['collector:4318', 'grpc://collector:4317', 'nonsense'])(
    'with the address %s no traces are sent, and the variable is named',
    (OTEL_EXPORTER_OTLP_ENDPOINT) => {
      const { isOn, problems } = readTracingSettings({ OTEL_EXPORTER_OTLP_ENDPOINT })
      expect(isOn).toBe(false)
      expect(problems).toEqual([
        'OTEL_EXPORTER_OTLP_ENDPOINT: expected an http or https URL; no traces are sent',
      ])
    },
  )

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'always_off' }, 'always_off', 1],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      'traceidratio',
      0.25,
    ],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio' }, 'parentbased_traceidratio', 1],
    // An argument of another sampler means nothing.
    [{ OTEL_TRACES_SAMPLER: 'always_on', OTEL_TRACES_SAMPLER_ARG: 'x' }, 'always_on', 1],
  ] as const)('choose the sampler by %o', (given, sampler, ratio) => {
    const settings = readTracingSettings({ ...endpoint, ...given })
    expect(settings).toMatchObject({ sampler, ratio, problems: [] })
  })

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'sometimes' }, 'OTEL_TRACES_SAMPLER:'],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
      'OTEL_TRACES_SAMPLER_ARG:',
    ],
    [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL:'],
  ])('with %o traces are sent by the default, and the variable is named', (given, name) => {
    const { isOn, problems, ratio } = readTracingSettings({ ...endpoint, ...given })
    expect([isOn, ratio]).toEqual([true, 1])
    expect(problems.map((problem) => problem.slice(0, name.length))).toEqual([name])
  })

  it.each([
    [{}, 5_000],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '800' }, 800],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '800', OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '900' }, 900],
    // A stop waits for the last export.
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '60000' }, 5_000],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: 'soon' }, 5_000],
    [{ OTEL_EXPORTER_OTLP_TIMEOUT: '-1' }, 5_000],
  ])('limit an export by %o', (given, timeoutMs) => {
    expect(readTracingSettings({ ...endpoint, ...given }).timeoutMs).toBe(timeoutMs)
  })
})
