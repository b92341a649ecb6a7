/**
 * The arithmetic of templates in decimals, as in Shopify's Liquid: `10.1 | minus: 2.2` is 7.9. What is no
 * number counts as 0; a division by zero, or a result that no number holds, is an error.
 */

/** `digits` / 10 ^ `scale` */
interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

type Operation = (a: Decimal, b: Decimal) => Decimal

/** More than a double holds. */
const QUOTIENT_DIGITS = 30

const operations: Readonly<Record<string, Operation>> = {
  plus: (a, b) => atOneScale(a, b, (x, y) => x + y),
  minus: (a, b) => atOneScale(a, b, (x, y) => x - y),
  times: (a, b) => ({ digits: a.digits * b.digits, scale: a.scale + b.scale }),
  modulo: (a, b) => atOneScale(a, b, (x, y) => ((x % divisor(y)) + y) % y),
  divided_by(a, b) {
    const more = QUOTIENT_DIGITS + String(b.digits).length
    const digits = (a.digits * 10n ** BigInt(more)) / divisor(b.digits)
    return { digits, scale: a.scale - b.scale + more }
  },
}

type Filter = (value: unknown, by?: unknown) => number

/** By their names; `divided_by` takes true for a whole number, rounded down. */
export const decimalFilters: Readonly<Record<string, (...args: unknown[]) => number>> = {
  ...Object.fromEntries(Object.entries(operations).map(([name, of]) => [name, filterOf(of)])),
  divided_by(value, by, isWhole) {
    const quotient = filterOf(operations.divided_by as Operation)(value, by)
    return isWhole === true ? Math.floor(quotient) : quotient
  },
}

export function sumOf(values: readonly unknown[]): number {
  const add = filterOf(operations.plus as Operation)
  return values.reduce<number>((sum, value) => add(sum, value), 0)
}

function filterOf(operation: Operation): Filter {
  return (value, by) => toNumber(operation(toDecimal(value), toDecimal(by)))
}

function divisor(digits: bigint): bigint {
  if (digits === 0n) throw new Error('divided by 0')
  return digits
}

function atOneScale(a: Decimal, b: Decimal, work: (x: bigint, y: bigint) => bigint): Decimal {
  const scale = Math.max(a.scale, b.scale)
  const raised = ({ digits, scale: own }: Decimal) => digits * 10n ** BigInt(scale - own)
  return { digits: work(raised(a), raised(b)), scale }
}

function toDecimal(value: unknown): Decimal {
  const number = Number(value) || 0
  if (!Number.isFinite(number)) throw tooLarge()
  const [mantissa = '', power = '0'] = String(number).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(power)
  const digits = BigInt(whole + fraction)
  return scale < 0 ? { digits: digits * 10n ** BigInt(-scale), scale: 0 } : { digits, scale }
}

function toNumber({ digits, scale }: Decimal): number {
  const number = Number(`${digits}e${-scale}`)
  if (!Number.isFinite(number)) throw tooLarge()
  // Not -0.
  return number + 0
}

function tooLarge(): Error {
  return new Error('the number is too large')
}
