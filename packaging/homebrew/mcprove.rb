# @DESCRIPTION@.
class Mcprove < Formula
  desc "Tests servers that speak the Model Context Protocol"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@MAC_ARM_URL@"
      sha256 "@MAC_ARM_SHA256@"
    end
    on_intel do
      url "@MAC_INTEL_URL@"
      sha256 "@MAC_INTEL_SHA256@"
    end
  end

  on_linux do
    on_arm do
      url "@LINUX_ARM_URL@"
      sha256 "@LINUX_ARM_SHA256@"
    end
    on_intel do
      url "@LINUX_INTEL_URL@"
      sha256 "@LINUX_INTEL_SHA256@"
    end
  end

  def install
    bin.install "mcprove"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/mcprove.bash" => "mcprove"
    zsh_completion.install "completions/_mcprove"
    fish_completion.install "completions/mcprove.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mcprove --version")
  end
end
