/**
 * What the variables of OpenTelemetry say of tracing. They have the names of its specification, and no prefix of
 * ours; its exporter reads those about the connection itself.
 */
export const samplerNames = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
export type SamplerName = (typeof samplerNames)[number]

export interface TracingSettings {
  readonly isOn: boolean
  readonly sampler: SamplerName
  /** In [0, 1]; of the samplers that take a part. */
  readonly ratio: number
  /** Of one export, with all its tries. */
  readonly timeoutMs: number
  /** Variables that say nothing usable, each with what was expected: they are ignored. */
  readonly problems: readonly string[]
}

/** A stop waits no longer for its last export. */
export const exportMsMax = 5_000

const ENDPOINT = 'OTEL_EXPORTER_OTLP_ENDPOINT'

/** For docs/config.md. */
export const tracingVariables: readonly {
  readonly name: string
  readonly default: string
  readonly meaning: string
}[] = [
  {
    name: ENDPOINT,
    default: 'unset: no traces',
    meaning:
      'Where spans are sent by OTLP over HTTP, as JSON: `http://127.0.0.1:4318`. `/v1/traces` is added',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    default: 'unset',
    meaning: 'The same as a whole address; wins over the one above',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    default: 'unset',
    meaning: 'Headers of these requests: `name=value,name=value`. Never logged',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    default: '5000',
    meaning: 'Milliseconds that one export may take, with its repetitions; at most 5000',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_COMPRESSION',
    default: '`none`',
    meaning: '`gzip` or `none`',
  },
  {
    name: 'OTEL_EXPORTER_OTLP_CERTIFICATE',
    default: 'unset',
    meaning:
      'PEM file of the authority behind an `https` address. `_CLIENT_KEY` and `_CLIENT_CERTIFICATE` work likewise',
  },
  {
    name: 'OTEL_SERVICE_NAME',
    default: '`postrider`',
    meaning: '`service.name` of the spans',
  },
  {
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    default: 'unset',
    meaning: 'Further attributes of all spans: `deployment.environment.name=production`',
  },
  {
    name: 'OTEL_TRACES_SAMPLER',
    default: '`parentbased_always_on`',
    meaning: samplerNames.map((name) => `\`${name}\``).join(', '),
  },
  {
    name: 'OTEL_TRACES_SAMPLER_ARG',
    default: '1',
    meaning: 'The part of traces that the samplers with `traceidratio` take: 0 to 1',
  },
  {
    name: 'OTEL_SDK_DISABLED',
    default: '`false`',
    meaning: '`true`: no traces, whatever the others say. So does `OTEL_TRACES_EXPORTER=none`',
  },
]

export function readTracingSettings(
  env: Readonly<Record<string, string | undefined>>,
): TracingSettings {
  const problems: string[] = []
  const textOf = (name: string) => env[name]?.trim() || undefined
  const refuse = (name: string, expected: string) => {
    problems.push(`${name}: expected ${expected}`)
  }
  const own = ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', ENDPOINT]
  const name = own.find((one) => textOf(one) !== undefined)
  const isOff =
    name === undefined ||
    textOf('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' ||
    textOf('OTEL_TRACES_EXPORTER')?.toLowerCase() === 'none'
  const off = { isOn: false, sampler: 'parentbased_always_on', ratio: 1 } as const
  if (isOff) return { ...off, timeoutMs: exportMsMax, problems }
  const isReachable = /^https?:$/.test(URL.parse(textOf(name) ?? '')?.protocol ?? '')
  if (!isReachable) refuse(name, 'an http or https URL; no traces are sent')
  const protocol =
    textOf('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? textOf('OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol !== undefined && protocol !== 'http/json')
    refuse('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json, which is used')
  const given = textOf('OTEL_TRACES_SAMPLER')
  const sampler = samplerNames.find((one) => one === (given ?? off.sampler))
  if (sampler === undefined) refuse('OTEL_TRACES_SAMPLER', samplerNames.join(', '))
  const ratioText = textOf('OTEL_TRACES_SAMPLER_ARG')
  const ratio = Number(ratioText ?? 1)
  const isRatio = ratio >= 0 && ratio <= 1
  const takesRatio = sampler?.endsWith('traceidratio') === true
  if (takesRatio && !isRatio) refuse('OTEL_TRACES_SAMPLER_ARG', 'a number from 0 to 1')
  const timeoutMs = Number(
    textOf('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') ?? textOf('OTEL_EXPORTER_OTLP_TIMEOUT'),
  )
  return {
    isOn: isReachable,
    sampler: sampler ?? off.sampler,
    ratio: takesRatio && isRatio ? ratio : 1,
    timeoutMs: timeoutMs > 0 ? Math.min(timeoutMs, exportMsMax) : exportMsMax,
    problems,
  }
}
