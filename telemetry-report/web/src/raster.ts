/** Rectangles as pixels: tens of thousands of them cost less than as calls of a canvas. */

/** Returns a color such as `#e69f00` as a pixel of an image. */
export function pixel(color: string, alpha = 1): number {
  const long = color.length === 4 ? [...color].map((c) => (c === "#" ? c : c + c)).join("") : color;
  const value = parseInt(long.slice(1, 7), 16);
  const [r, g, b] = [(value >> 16) & 255, (value >> 8) & 255, value & 255];
  return ((Math.round(alpha * 255) << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

export class Raster {
  private readonly canvas = document.createElement("canvas");
  private readonly context = this.canvas.getContext("2d")!;
  private image = new ImageData(1, 1);
  private pixels = new Uint32Array(this.image.data.buffer);
  private scale = 1;
  /** Pixels that rectangles may fill. */
  private left = 0;
  private top = 0;

  /** Begins a picture of this size in CSS pixels, without what is left of `left` and above `top`. */
  begin(width: number, height: number, scale: number, left: number, top: number): void {
    const [w, h] = [Math.max(Math.round(width * scale), 1), Math.max(Math.round(height * scale), 1)];
    if (this.image.width !== w || this.image.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.image = new ImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else {
      this.pixels.fill(0);
    }
    this.scale = scale;
    this.left = Math.round(left * scale);
    this.top = Math.round(top * scale);
  }

  /** Fills a rectangle, at least a pixel of the device in each direction. */
  rect(x: number, y: number, width: number, height: number, color: number): void {
    const { scale, image } = this;
    let x1 = Math.round(x * scale);
    let x2 = Math.max(Math.round((x + width) * scale), x1 + 1);
    let y1 = Math.round(y * scale);
    let y2 = Math.max(Math.round((y + height) * scale), y1 + 1);
    if (x1 < this.left) x1 = this.left;
    if (y1 < this.top) y1 = this.top;
    if (x2 > image.width) x2 = image.width;
    if (y2 > image.height) y2 = image.height;
    if (x2 <= x1) return;
    for (let at = y1 * image.width; y1 < y2; y1++, at += image.width) {
      if (x2 - x1 > 8) this.pixels.fill(color, at + x1, at + x2);
      else for (let i = at + x1; i < at + x2; i++) this.pixels[i] = color;
    }
  }

  /** Draws the picture above what a canvas has. */
  end(onto: CanvasRenderingContext2D): void {
    this.context.putImageData(this.image, 0, 0);
    onto.drawImage(this.canvas, 0, 0, this.image.width / this.scale, this.image.height / this.scale);
  }
}
